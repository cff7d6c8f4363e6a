"""The token strip in a real browser: text is shown literally and completely, and can be used by anyone."""

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from streamlit.testing.v1 import AppTest

from analysis.tokens import cells, shown
from tests.browser.conftest import wait_until_idle
from tests.browser.strip_texts import CHAT, HOSTILE, LONG, TWO_DIRECTIONS, byte_tokens

APP = Path(__file__).with_name("strip_app.py")


@pytest.fixture
def strips(serve, open_page) -> Page:
    return open_page(serve(APP))


@pytest.fixture(scope="module")
def drawn(serve, open_shared_page) -> Page:
    """The same page for tests that change nothing on the server."""
    return open_shared_page(serve(APP))


def strip(page, label):
    return page.get_by_role("listbox", name=label, exact=True)


def token(page, label, index):
    return strip(page, label).locator(f'[data-token="{index}"]')


def texts(page, label):
    return strip(page, label).get_by_role("option").evaluate_all("cells => cells.map(cell => cell.dataset.text)")


def tip(page):
    return page.locator(".token-strip .tip:popover-open")


# --- text


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("Any text", HOSTILE),
        ("Without scores", HOSTILE),
        ("Two directions", TWO_DIRECTIONS),
        ("Chat", CHAT),
        ("Long", LONG),
        ("Sentences", LONG),
        ("Magnitude", "Q: What is the  capitel of France?\nA:"),
        ("Rewording", "Q: What is the  capitel of France?\nA:"),
    ],
)
def test_the_cells_put_together_are_the_prompt(drawn, label, text):
    assert "".join(texts(drawn, label)) == text


def test_every_cell_shows_its_text_literally(drawn):
    seen = strip(drawn, "Any text").get_by_role("option").evaluate_all("cells => cells.map(cell => cell.textContent)")
    assert seen == [shown(cell.text) for cell in cells(byte_tokens(HOSTILE, 3))]
    assert drawn.locator(".token-strip").locator("script, img, b, strong, s, a").count() == 0


def test_signs_of_several_code_points_stay_whole(drawn):
    found = texts(drawn, "Any text")
    for sign in ["日", "👨\u200d👩\u200d👧\u200d👦", "2\ufe0f\u20e3", "e\u0301"]:
        assert sum(sign in text for text in found) == 1


def test_copying_gives_the_prompt_itself(serve, open_page):
    page = open_page(serve(APP))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for label, text in [("Any text", HOSTILE), ("Two directions", TWO_DIRECTIONS), ("Chat", CHAT)]:
        strip(page, label).get_by_role("option").first.focus()
        page.keyboard.press("ControlOrMeta+a")
        page.keyboard.press("ControlOrMeta+c")
        assert page.evaluate("navigator.clipboard.readText()").replace("\r\n", "\n") == text


def test_letters_of_a_right_to_left_word_stand_in_their_order(drawn):
    boxes = (
        strip(drawn, "Two directions")
        .get_by_role("option")
        .evaluate_all("cells => cells.map(cell => [cell.dataset.text, cell.getBoundingClientRect().left])")
    )
    found = [text for text, _ in boxes]
    start = next(place for place in range(len(found)) if found[place : place + 4] == list("שלום"))
    places = [left for _, left in boxes[start : start + 4]]
    assert places == sorted(places, reverse=True)


# --- choosing


def test_a_click_chooses_a_token_and_another_click_clears_it(strips):
    token(strips, "Reference", 3).click()
    expect(strips.get_by_text("chosen: 3").first).to_be_visible()
    expect(token(strips, "Reference", 3)).to_have_attribute("aria-selected", "true")
    token(strips, "Reference", 1).click()
    expect(strips.get_by_text("chosen: 1").first).to_be_visible()
    expect(strip(strips, "Reference").get_by_role("option", selected=True)).to_have_count(1)
    token(strips, "Reference", 1).click()
    expect(strips.get_by_text("chosen: None").first).to_be_visible()
    expect(strip(strips, "Reference").get_by_role("option", selected=True)).to_have_count(0)


def test_a_choice_stays_until_the_tokens_change(strips):
    token(strips, "Reference", 3).click()
    expect(strips.get_by_text("chosen: 3").first).to_be_visible()
    token(strips, "Any text", 0).click()
    expect(strips.get_by_text("kept: 0").first).to_be_visible()
    expect(strips.get_by_text("chosen: 3").first).to_be_visible()
    strips.get_by_text("Other tokens").click()
    expect(strips.get_by_text("chosen: None").first).to_be_visible()
    expect(strip(strips, "Reference").get_by_role("option", selected=True)).to_have_count(0)


def test_a_page_can_keep_the_choice_itself(strips):
    token(strips, "Any text", 2).click()
    expect(strips.get_by_text("kept: 2").first).to_be_visible()
    wait_until_idle(strips)
    expect(token(strips, "Any text", 2)).to_have_attribute("aria-selected", "true")
    token(strips, "Any text", 2).click()
    expect(strips.get_by_text("kept: None").first).to_be_visible()


def test_tokens_that_nobody_typed_are_labelled_and_cannot_be_chosen(strips):
    template = token(strips, "Chat", 1)
    expect(template).to_have_attribute("aria-disabled", "true")
    expect(template).to_have_accessible_name(re.compile("control token, template, locked"))
    template.click(force=True)
    expect(template).to_have_attribute("aria-selected", "false")
    markers = strip(strips, "Chat").locator(".marker").all_inner_texts()
    assert [marker.lower() for marker in markers[:3]] == ["template", "system", "template"]
    expect(strip(strips, "Chat").locator(".control")).to_have_count(6)  # <im_end>, typed, is none
    expect(token(strips, "Chat", 0)).to_have_text("<|bos|>")
    expect(token(strips, "Chat", 0)).to_have_attribute("data-text", "")


# --- the keyboard


def test_a_strip_is_one_stop_and_arrows_move_in_it(drawn):
    assert strip(drawn, "Reference").locator('[tabindex="0"]').count() == 1
    token(drawn, "Reference", 0).focus()
    drawn.keyboard.press("ArrowRight")
    drawn.keyboard.press("ArrowRight")
    expect(token(drawn, "Reference", 2)).to_be_focused()
    drawn.keyboard.press("ArrowLeft")
    expect(token(drawn, "Reference", 1)).to_be_focused()
    drawn.keyboard.press("End")
    expect(token(drawn, "Reference", 4)).to_be_focused()
    drawn.keyboard.press("Tab")
    expect(token(drawn, "Rewording", 0)).to_be_focused()
    drawn.keyboard.press("ArrowDown")
    expect(strip(drawn, "Rewording").locator(":focus")).to_have_attribute("data-text", "A")
    drawn.keyboard.press("Home")
    expect(token(drawn, "Rewording", 0)).to_be_focused()
    drawn.keyboard.press("Shift+Tab")
    expect(token(drawn, "Reference", 4)).to_be_focused()


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_keys_choose_and_clear_and_the_focus_stays(strips, key):
    token(strips, "Reference", 0).focus()
    strips.keyboard.press("ArrowRight")
    strips.keyboard.press(key)
    expect(strips.get_by_text("chosen: 1").first).to_be_visible()
    wait_until_idle(strips)
    expect(token(strips, "Reference", 1)).to_be_focused()
    strips.keyboard.press("Escape")
    expect(strips.get_by_text("chosen: None").first).to_be_visible()
    wait_until_idle(strips)
    expect(token(strips, "Reference", 1)).to_be_focused()


def test_the_last_token_of_a_long_prompt_is_reached_and_seen(drawn):
    box = strip(drawn, "Long")
    assert box.evaluate("box => box.scrollHeight > box.clientHeight && box.clientHeight < 500")
    box.get_by_role("option").first.focus()
    drawn.keyboard.press("End")
    last = box.get_by_role("option").last
    expect(last).to_be_focused()
    expect(last).to_be_in_viewport()


# --- what is said


def test_hovering_says_what_a_token_is(drawn):
    token(drawn, "Reference", 3).hover()
    for words in ["·France", "raises p(·Paris) by 0.94 nats", "rank 2 of 4", "token 3, id 503"]:
        expect(tip(drawn)).to_contain_text(words)
    token(drawn, "Reference", 0).hover()
    expect(tip(drawn)).to_contain_text("left out of the colours")


def test_the_focus_says_it_too_and_escape_takes_it_away(drawn):
    token(drawn, "Reference", 3).focus()
    drawn.keyboard.press("ArrowRight")
    expect(tip(drawn)).to_contain_text("lowers p(·Paris) by 0.66 nats")
    drawn.keyboard.press("Escape")
    expect(tip(drawn)).to_have_count(0)


def test_invisible_characters_are_named(drawn):
    names = strip(drawn, "Any text").get_by_role("option").evaluate_all("cells => cells.map(cell => cell.ariaLabel)")
    together = "\n".join(names)
    for name in [
        "U+200B ZERO WIDTH SPACE",
        "U+202E RIGHT-TO-LEFT OVERRIDE",
        "U+00A0 NO-BREAK SPACE",
        "U+FE0F VARIATION SELECTOR-16",
        "U+200D ZERO WIDTH JOINER × 3",
    ]:
        assert name in together


def test_a_cell_says_in_words_what_its_colour_shows(drawn):
    expect(token(drawn, "Reference", 1)).to_have_accessible_name(
        "capital, raises p(·Paris) by 1.25 nats, rank 1 of 4, token 1"
    )
    expect(token(drawn, "One score missing", 3)).to_have_accessible_name(re.compile("could not be computed"))
    expect(token(drawn, "Not converged", 1)).to_have_accessible_name(re.compile("not converged"))
    expect(drawn.get_by_text("lowers p(·Paris)", exact=True).first).to_be_visible()
    expect(drawn.get_by_text("raises p(·Paris)", exact=True).first).to_be_visible()


def test_what_differs_from_the_reference_is_marked(drawn):
    assert strip(drawn, "Rewording").locator(".added").all_inner_texts() == ["·", "e"]  # capital, capitel
    expect(strip(drawn, "Shorter").locator(".missing")).to_have_count(2)
    expect(token(drawn, "Shorter", 0)).to_have_accessible_name(re.compile("missing here: “The·”"))


# --- for everyone


@pytest.mark.parametrize(("width", "dark"), [(1440, False), (1440, True), (420, False), (420, True)])
def test_no_serious_accessibility_violation(serve, open_page, width, dark):
    page = open_page(serve(APP), width=width, dark=dark)
    token(page, "Reference", 1).click()
    expect(page.get_by_text("chosen: 1").first).to_be_visible()
    violations = Axe().run(page, context=".token-strip").response["violations"]
    assert [
        (found["id"], found["nodes"][0]["html"]) for found in violations if found["impact"] in ("serious", "critical")
    ] == []
    assert page.locator(".tokens").evaluate_all("boxes => boxes.every(box => box.scrollWidth <= box.clientWidth)")


def luminance(colour):
    """Relative luminance by WCAG 2."""
    shares = [float(value) / 255 for value in re.findall(r"[\d.]+", colour)[:3]]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("dark", [False, True])
def test_text_can_be_read_on_every_colour(serve, open_page, dark):
    page = open_page(serve(APP), dark=dark)
    paper = page.locator('[data-testid="stApp"]').evaluate("app => getComputedStyle(app).backgroundColor")
    colours = page.locator(".cell").evaluate_all(
        "cells => cells.map(cell => [getComputedStyle(cell).color, getComputedStyle(cell).backgroundColor])"
    )
    assert len(set(map(tuple, colours))) > 50
    for ink, cell in colours:
        light, deep = sorted([luminance(ink), luminance(paper if "rgba(0, 0, 0, 0)" in cell else cell)], reverse=True)
        assert (light + 0.05) / (deep + 0.05) >= 4.5, (ink, cell)


def test_strips_run_without_a_browser_too():
    app = AppTest.from_file(str(APP), default_timeout=60).run()
    assert not app.exception
    assert not app.run().exception


def test_protected_tokens_are_framed_and_say_so(drawn):
    cell = token(drawn, "Without scores", 1)
    assert "protected" in cell.get_attribute("aria-label")
    assert cell.evaluate("cell => getComputedStyle(cell).boxShadow").startswith("rgb")
    assert "protected" not in token(drawn, "Without scores", 0).get_attribute("aria-label")
