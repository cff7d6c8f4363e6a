"""Variants in a real browser: words are protected by a click, proposals are kept, and hostile text is literal."""

import csv
import io
import json
import re

import pytest
from playwright.sync_api import expect

from analysis.prompts import PromptSet
from tests.browser import dashboard
from tests.browser.conftest import wait_until_idle
from tests.browser.hostile_texts import HOSTILE
from tests.browser.test_literal_text import interpreted

SMALL = PromptSet("Please describe the famous capital of France", target=" Paris", response_tokens=1)


@pytest.fixture
def page(tiny_app, open_page):
    return open_page(dashboard.link(tiny_app, SMALL, "variants"))


def proposals(page):
    return page.locator("[class*='st-key-proposal-']")


def only(page, *kinds):
    """Choose these kinds and no others."""
    for button in page.locator(".st-key-kinds button").all():
        chosen = button.get_attribute("kind") == "pillsActive" or button.get_attribute("aria-pressed") == "true"
        if chosen != (button.inner_text() in kinds):
            button.click()
            wait_until_idle(page)


def click_word(page, word, protected):
    """Click a word in the strip; `protected` words are framed after that."""
    strip = page.get_by_role("listbox", name="Words of the reference to protect")
    strip.get_by_role("option").filter(has_text=word).first.click()
    expect(strip.locator(".protected")).to_have_text([re.compile(one) for one in protected])
    wait_until_idle(page)


def test_a_protected_word_is_left_alone_until_it_is_set_free(page):
    only(page, "typo")
    words = ["Please", "describe", "famous", "capital"]
    for count, word in enumerate(words, start=1):
        click_word(page, word, words[:count])
    expect(proposals(page)).to_have_count(0)  # France is a name, and the others are short
    click_word(page, "capital", words[:3])
    expect(proposals(page).first).to_be_visible()
    for row in proposals(page).all():
        assert "Please·describe" in "".join(dashboard.cells(row.get_by_role("listbox"))).replace(" ", "·")


def test_a_proposal_is_dropped_another_is_edited_and_the_rest_is_kept(page):
    only(page, "casing")
    first, second = proposals(page).nth(0), proposals(page).nth(1)
    first.get_by_role("checkbox").press("Space")
    wait_until_idle(page)
    dashboard.press(page, "Edit", second)
    dashboard.type_into(page.get_by_role("textbox", name="Text of this rewording"), "Describe Paris")
    dashboard.close_popover(page)
    expect(second).to_contain_text("edited by you")
    if not second.get_by_role("checkbox").is_checked():  # a check found that "France" is gone
        second.get_by_role("checkbox").press("Space")
        wait_until_idle(page)
    dashboard.press(page, re.compile("^Keep 1 in the set"))
    assert [variant.text for variant in dashboard.set_in_address(page).variants] == ["Describe Paris"]
    assert dashboard.rewording(page, 1).input_value() == "Describe Paris"


def test_the_files_hold_the_proposals_and_the_kinds(page):
    only(page, "casing", "negation")
    dashboard.press(page, re.compile("^Run up to"))
    expect(page.locator(".st-key-risky-kinds .js-plotly-plot .main-svg").first).to_be_visible()
    dashboard.open_popover(page, "export")
    result = json.loads(dashboard.download(page, re.compile("JSON")).path().read_text(encoding="utf-8"))
    assert result["reference"] == SMALL.reference
    assert {one["rule"] for one in result["proposals"]} <= {"casing", "negation"}
    assert result["risky_kinds"]["kinds"]
    table = dashboard.download(page, re.compile("row per proposal")).path().read_text(encoding="utf-8-sig")
    assert len(list(csv.DictReader(io.StringIO(table)))) == len(result["proposals"])


@pytest.mark.parametrize("name", ["image", "bold", "formula", "right to left"])
def test_hostile_references_are_literal(tiny_app, open_page, name):
    text = f"Please describe {HOSTILE[name]} here"
    page = open_page(dashboard.link(tiny_app, PromptSet(text, target=" x", response_tokens=1), "variants"))
    expect(proposals(page).first).to_be_visible()
    assert interpreted(page) == []
    strip = page.get_by_role("listbox", name="Words of the reference to protect")
    assert "".join(dashboard.cells(strip)) == text
