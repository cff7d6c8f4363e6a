"""Explore in a real browser: what is there at once, and what every change does."""

import csv
import io
import json
import re

import pytest
from playwright.sync_api import expect

from analysis.prompts import PromptSet, Variant
from tests.browser import dashboard
from tests.browser.conftest import ROOT, wait_until_idle

SMALL = PromptSet(
    "The capital of France is",
    (Variant("France's capital is"), Variant("What is the capital of France?", label="a question"), Variant("Paris")),
    target=" Paris",
    response_tokens=3,
)


@pytest.fixture
def page(tiny_app, open_page):
    return open_page(dashboard.link(tiny_app, SMALL))


# --- the default model


def test_the_first_page_states_its_finding_and_then_the_answers(default_app, open_page):
    page = open_page(default_app)
    expect(dashboard.finding(page)).to_have_text(
        re.compile(
            r"Six rewordings move log p\(.*Paris.*\) by up to 3\.\d nats \(77 % → \d\.\d %\); .* change the answer"
        ),
        timeout=90_000,
    )
    for row in dashboard.rows(page):
        assert "…" not in row.split("\n")
    expect(dashboard.row(page, 0)).to_contain_text("·Paris")
    expect(page.locator(".st-key-model-card")).to_contain_text("SmolLM2-135M-Instruct")
    expect(page.locator(".stPlotlyChart .main-svg").first).to_be_visible()


def test_parts_of_characters_are_shown_as_whole_characters(default_app, open_page):
    text = "日本語のテスト"
    page = open_page(dashboard.link(default_app, PromptSet(text, (Variant(f"{text} "),), response_tokens=1)))
    expect(dashboard.row(page, 0)).to_contain_text("reference · 13 tokens")
    cells = dashboard.cells(page.get_by_role("listbox", name="Tokens of reference").first)
    assert "".join(cells) == text
    assert all(sum(letter in cell for cell in cells) == 1 for letter in text)


# --- changes


def test_an_edit_changes_its_row_and_the_aggregates_and_nothing_else(page):
    before, finding = dashboard.rows(page), dashboard.finding(page).inner_text()
    dashboard.type_into(dashboard.rewording(page, 2), "Name the capital of Spain")
    after = dashboard.rows(page)
    assert [place for place in range(4) if after[place] != before[place]] == [2]
    assert "Name·the·capital·of·Spain" in after[2]
    assert dashboard.finding(page).inner_text() != finding


def test_of_two_quick_edits_the_second_is_shown(page):
    field = dashboard.rewording(page, 1)
    for text in ("The first edit", "The second edit"):
        field.fill(text)
        field.press("ControlOrMeta+Enter")
    wait_until_idle(page)
    expect(field).to_have_value("The second edit")
    expect(dashboard.row(page, 1)).to_contain_text("The·second·edit")
    assert dashboard.set_in_address(page).variants[0].text == "The second edit"


def test_a_target_is_picked_from_the_likeliest_tokens(page):
    token = dashboard.open_options(page, "A next token").nth(3).inner_text()
    page.keyboard.press("Escape")
    dashboard.choose(page, "A next token", token)
    dashboard.press(page, "Make it the target")
    name = token.split(" (id")[0].strip()
    expect(page.get_by_text(f"1 token: {name}", exact=True).first).to_be_visible()
    expect(page.get_by_text(f"raises p({name})", exact=True).first).to_be_visible()


def test_a_row_becomes_the_reference_and_the_old_one_comes_back(page):
    dashboard.press(page, "Make reference", dashboard.row(page, 2))
    expect(dashboard.field(page, "Reference prompt")).to_have_value("What is the capital of France?")
    expect(dashboard.row(page, 2)).to_contain_text("former reference")
    dashboard.press(page, "Undo")
    expect(dashboard.field(page, "Reference prompt")).to_have_value(SMALL.reference)
    assert dashboard.set_in_address(page) == SMALL


def test_a_click_on_a_bar_selects_its_wording_everywhere(page):
    plot = page.locator(".st-key-deltas .nsewdrag").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] * 2.5 / 4)  # the third of four rows
    wait_until_idle(page)
    wording = page.get_by_role("combobox", name="Wording")
    expect(wording).to_have_value("a question")
    page.get_by_role("link", name="Attribution", exact=True).click()
    wait_until_idle(page)
    expect(wording).to_have_value("a question")


def test_every_page_shows_what_was_typed_on_another(page):
    dashboard.type_into(dashboard.field(page, "Reference prompt"), "Typed on Explore")
    page.get_by_role("link", name="Attribution", exact=True).click()
    wait_until_idle(page)
    reference = dashboard.field(page, "Reference prompt")
    expect(reference).to_have_value("Typed on Explore")
    dashboard.type_into(reference, "Typed on Attribution")
    page.get_by_role("link", name="Explore", exact=True).click()
    wait_until_idle(page)
    expect(reference).to_have_value("Typed on Attribution")
    expect(dashboard.row(page, 0)).to_contain_text("Typed·on·Attribution")


def test_a_reload_keeps_what_was_typed(page):
    text = "  Typed, with  blanks\nand a line "
    dashboard.type_into(dashboard.field(page, "Reference prompt"), text)
    dashboard.type_into(dashboard.field(page, "Target"), " Rome ")
    page.reload()
    wait_until_idle(page)
    expect(dashboard.field(page, "Reference prompt")).to_have_value(text)
    expect(dashboard.field(page, "Target")).to_have_value(" Rome ")


def test_a_shared_link_opens_the_same_set_in_a_new_session(page, open_page):
    text = "日本語 <b>&amp;</b> \u200b"
    dashboard.type_into(dashboard.rewording(page, 3), text)
    dashboard.open_popover(page, "share")
    other = open_page(page.get_by_text("?set=").inner_text())
    expect(dashboard.rewording(other, 3)).to_have_value(text)
    assert dashboard.rows(other) == dashboard.rows(page)


def test_a_damaged_link_is_explained_and_the_page_works(tiny_app, open_page):
    page = open_page(dashboard.link(tiny_app, SMALL)[:-7])
    expect(page.get_by_text("the link: ").first).to_be_visible()
    expect(dashboard.finding(page)).to_contain_text("Six rewordings")
    dashboard.type_into(dashboard.field(page, "Reference prompt"), "Typed after that")
    expect(page.get_by_text("the link: ")).to_have_count(0)
    expect(dashboard.row(page, 0)).to_contain_text("Typed·after·that")


# --- results to take away


def test_results_are_downloaded_with_all_their_text(page):
    texts = [SMALL.reference, *(variant.text for variant in SMALL.variants)]
    dashboard.open_popover(page, "export")
    result = json.loads(dashboard.download(page, re.compile("JSON")).path().read_text(encoding="utf-8"))
    assert [prompt["text"] for prompt in result["prompts"]] == texts
    table = dashboard.download(page, re.compile("A row per prompt")).path().read_text(encoding="utf-8-sig")
    assert [row["text"] for row in csv.DictReader(io.StringIO(table))] == texts
    assert dashboard.download(page, re.compile("Report")).path().read_bytes().startswith(b"<!")


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<svg")])
def test_a_chart_is_saved_as_a_picture(page, kind, start):
    dashboard.open_popover(page, "export")
    page.get_by_role("radio", name=kind).click()
    wait_until_idle(page)
    dashboard.close_popover(page)
    chart = page.locator(".st-key-deltas")
    chart.hover()
    with page.expect_download() as found:
        chart.locator(".modebar-btn[data-title*=Download]").first.click()
    assert found.value.path().read_bytes().startswith(start)


def test_the_data_of_a_chart_are_downloaded(page):
    with page.expect_download() as found:
        page.locator("[class*='st-key-data-of-deltas'] button").click()
    data = list(csv.DictReader(io.StringIO(found.value.path().read_text(encoding="utf-8"))))
    assert [row["text"] for row in data] == [SMALL.reference, *(variant.text for variant in SMALL.variants)]


def test_a_link_to_a_page_has_the_menu_on_a_server_that_just_started(serve, tiny_model_folder, open_page):
    url = serve(ROOT / "app.py", PSL_MODEL=str(tiny_model_folder), OMP_NUM_THREADS="1", PSL_TEST="a server of its own")
    page = open_page(dashboard.link(url, SMALL, "dispersion"))
    expect(page.get_by_role("link", name="Sensitivity", exact=True).first).to_be_visible()
    expect(page.get_by_role("link", name="app", exact=True)).to_have_count(0)
