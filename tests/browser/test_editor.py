"""The prompt-set editor in a real browser: models, files, lists, and that everything can be reached."""

import re

import pytest
from playwright.sync_api import expect

from analysis.prompts import PromptSet, Variant
from tests.browser import dashboard
from tests.browser.conftest import wait_until_idle

SMALL = PromptSet(
    "The capital of France is",
    (Variant("France's capital is"), Variant("What is the capital of France?", label="a question")),
    target=" Paris",
    response_tokens=2,
)


@pytest.fixture
def page(tiny_app, open_page):
    return open_page(dashboard.link(tiny_app, SMALL))


def test_a_model_that_does_not_load_leaves_page_and_model(page):
    before = dashboard.rows(page)
    dashboard.open_popover(page, "model-picker")
    dashboard.choose(page, "Model", "Hugging Face id")
    dashboard.type_into(dashboard.field(page, re.compile("^Model id")), "nobody/**no** such-model")
    dashboard.press(page, "Load")
    expect(page.locator(".st-key-model-error")).to_have_text(
        re.compile(r"The model was not loaded: .*nobody/\*\*no\*\* such-model")
    )
    expect(page.locator(".st-key-model-card")).to_contain_text("**tiny**_x")
    assert dashboard.rows(page) == before
    dashboard.close_popover(page)
    dashboard.type_into(dashboard.rewording(page, 1), "Its capital is")
    expect(dashboard.row(page, 1)).to_contain_text("Its·capital·is")


def test_a_bad_file_is_named_with_its_fault_and_the_next_one_opens(page):
    dashboard.upload(page, "broken.json", b'{"version": 1, "reference": "x", "varants": []}')
    expect(page.get_by_text(re.compile("^broken.json: .*varants")).first).to_be_visible()
    assert dashboard.set_in_address(page) == SMALL
    dashboard.upload(page, "good.csv", "text;label\n日本語;one\n  two  ;\n".encode("utf-8-sig"))
    expect(dashboard.field(page, "Reference prompt")).to_have_value("日本語")
    expect(dashboard.rewording(page, 1)).to_have_value("  two  ")
    expect(page.get_by_text(re.compile("^broken.json: "))).to_have_count(0)
    dashboard.close_popover(page)
    dashboard.press(page, "Undo")
    assert dashboard.set_in_address(page) == SMALL


def test_rewordings_come_and_go(page):
    dashboard.press(page, "Add a rewording")
    dashboard.type_into(dashboard.rewording(page, 3), "one two three")
    dashboard.press(page, "Duplicate", page.locator("[class*='st-key-variant-']").nth(2))
    expect(dashboard.rewording(page, 4)).to_have_value("one two three")
    expect(dashboard.row(page, 4)).to_contain_text("same tokens as")
    dashboard.field(page, "Use rewording 1").press("Space")
    wait_until_idle(page)
    expect(dashboard.row(page, 1)).to_have_count(0)
    expect(dashboard.row(page, 2)).to_contain_text("a question")
    dashboard.press(page, "Remove", page.locator("[class*='st-key-variant-']").nth(2))
    expect(dashboard.rewording(page, 3)).to_have_value("one two three")
    expect(dashboard.rewording(page, 4)).to_have_count(0)


def test_chat_mode_shows_the_template_around_the_prompt(page):
    page.get_by_role("radio", name="Chat").click()
    wait_until_idle(page)
    strip = dashboard.row(page, 0).get_by_role("listbox")
    text = "".join(dashboard.cells(strip))
    assert text.startswith("<|start|>user")
    assert SMALL.reference in text
    page.get_by_role("checkbox", name="Own system prompt").press("Space")
    wait_until_idle(page)
    dashboard.type_into(dashboard.field(page, "System prompt"), "Be brief.")
    assert "system\nBe brief." in "".join(dashboard.cells(strip))


def test_the_main_actions_are_reached_and_done_by_keyboard(page):
    page.locator("body").press("Tab")
    met = []
    for _ in range(400):
        name = page.evaluate(
            "() => { const at = document.activeElement;"
            " return at.getAttribute('aria-label') || at.innerText || at.labels?.[0]?.innerText || '' }"
        )
        met.extend(name.strip().split("\n"))  # icons are lines of their own
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
    for action in [
        "Change model",
        "Examples",
        "Open",
        "Share",
        "Reference prompt",
        "Rewording 1",
        "Use rewording 1",
        "Details",
        "Duplicate",
        "Remove",
        "Add a rewording",
        "Target",
        "Foil, candidates, options",
        "Attribution",
        "Export",
        "Order",
        "Make reference",
        "Look closer",
        "A next token",
        "Make it the target",
        "How to read this, and how it can mislead",
        "Data (CSV)",
    ]:
        assert action in met, f"{action} is not among {sorted(set(met))}"
    assert any(name.startswith("The, ") for name in met), "token strips"
    dashboard.field(page, "Reference prompt").focus()
    page.keyboard.press("End")
    page.keyboard.type(" not")
    page.keyboard.press("ControlOrMeta+Enter")
    wait_until_idle(page)
    expect(dashboard.row(page, 0)).to_contain_text("is·not")
    page.get_by_role("button", name="Add a rewording").focus()
    page.keyboard.press("Enter")
    wait_until_idle(page)
    expect(dashboard.rewording(page, 3)).to_be_visible()


def test_forty_rewordings_can_be_edited(tiny_app, open_page):
    many = PromptSet("One is a number", tuple(Variant(f"{k} is a number") for k in range(40)), response_tokens=1)
    page = open_page(dashboard.link(tiny_app, many))
    expect(dashboard.finding(page)).to_contain_text("40 rewordings")
    dashboard.type_into(dashboard.rewording(page, 40), "Forty is a number")
    page.get_by_text("Show all 41 rows", exact=True).click()
    wait_until_idle(page)
    expect(dashboard.row(page, 40)).to_contain_text("Forty·is·a·number")
    assert dashboard.set_in_address(page).variants[39].text == "Forty is a number"


@pytest.mark.parametrize("path", ["", "attribution", "dispersion", "variants", "sensitivity"])
@pytest.mark.parametrize("width", [420, 1440])
def test_nothing_is_wider_than_the_screen(tiny_app, open_page, path, width):
    page = open_page(dashboard.link(tiny_app, SMALL, path), width=width)
    # A closed sidebar is a strip of 40 pixels.
    wide = """() => ['stMain', 'stSidebarContent'].map(id => document.querySelector(`[data-testid="${id}"]`))
        .filter(pane => pane && pane.clientWidth > 100 && pane.scrollWidth > pane.clientWidth + 1).length"""
    assert page.evaluate(wide) == 0
    if width == 420:
        page.get_by_test_id("stExpandSidebarButton").click()
        expect(dashboard.field(page, "Reference prompt")).to_be_in_viewport()
        assert page.evaluate(wide) == 0
        dashboard.type_into(dashboard.field(page, "Reference prompt"), "Typed on a phone")
        page.get_by_test_id("stSidebarCollapseButton").get_by_role("button").click()
    expect(dashboard.finding(page)).to_be_in_viewport()
