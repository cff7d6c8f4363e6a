"""Attribution in a real browser: methods, trust checks, and work that can be stopped."""

import re

import pytest
from playwright.sync_api import expect

from analysis.prompts import PromptSet, Variant
from tests.browser import dashboard
from tests.browser.conftest import wait_until_idle

SMALL = PromptSet(
    "The capital of France is",
    (Variant("France's capital is"), Variant("What is the capital of France?", label="a question")),
    target=" Paris is",
    response_tokens=2,
)


@pytest.fixture
def page(tiny_app, open_page):
    return open_page(dashboard.link(tiny_app, SMALL, "attribution"))


def wording(page):
    return page.get_by_role("listbox", name="Tokens of the wording", exact=True)


def colours(page):
    cells = wording(page).get_by_role("option")
    return cells.evaluate_all("cells => cells.map(cell => getComputedStyle(cell).backgroundColor)")


def test_another_method_gives_another_map_and_stays_in_the_address(page):
    before = colours(page)
    page.get_by_role("radio", name="leave-one-out").click()
    wait_until_idle(page)
    expect(dashboard.finding(page)).to_contain_text(re.compile("leave-one-out|leaving out"))
    assert colours(page) != before
    assert "method=leave-one-out" in page.url
    page.reload()
    wait_until_idle(page)
    expect(page.get_by_role("radio", name="leave-one-out")).to_be_checked()
    assert dashboard.set_in_address(page) == SMALL


def test_tokens_are_grouped_to_words(page):
    page.get_by_role("radio", name="word", exact=True).click()
    wait_until_idle(page)
    assert all(len(text.split()) <= 1 for text in dashboard.cells(wording(page)))


def test_the_trust_checks_are_drawn_when_asked_for(page):
    for name, chart in {"Deletion curve": "deletion-curve-chart", "A map for each": "target-matrix-chart"}.items():
        expect(page.locator(f".st-key-{chart}")).to_have_count(0)
        page.get_by_text(re.compile(f"^{name}")).click()
        wait_until_idle(page)
        expect(page.locator(f".st-key-{chart} .js-plotly-plot")).to_be_visible()


def test_a_foil_turns_the_question_into_why_this_rather_than_that(page):
    dashboard.open_popover(page, "more")
    dashboard.type_into(dashboard.field(page, "Foil"), " Rome")
    expect(page.get_by_text("raises p(·Paris is) against p(·Rome)", exact=True).first).to_be_visible()


def test_the_map_of_another_wording_is_shown(page):
    dashboard.choose(page, "Wording", "a question")
    assert "".join(dashboard.cells(wording(page))) == "What is the capital of France?"
    dashboard.choose(page, "Wording", "reference")
    assert "".join(dashboard.cells(wording(page))) == SMALL.reference


def test_work_can_be_stopped_and_the_page_goes_on(default_app, open_page):
    long = PromptSet("The sky is blue and the grass is green. " * 40, target=" The", response_tokens=1)
    page = open_page(dashboard.link(default_app, long, "attribution"))
    page.get_by_role("radio", name="integrated gradients").click()
    stop = page.get_by_role("button", name="Stop", exact=True)
    expect(stop).to_be_visible(timeout=60_000)
    stop.click()
    expect(page.get_by_text("Stopped: integrating gradients.").first).to_be_visible(timeout=60_000)
    wait_until_idle(page)
    page.get_by_role("radio", name="saliency").click()
    wait_until_idle(page)
    expect(dashboard.finding(page)).to_contain_text("saliency")
    page.get_by_role("radio", name="integrated gradients").click()
    wait_until_idle(page)
    expect(page.get_by_text("Stopped: integrating gradients.").first).to_be_visible()  # until it is asked for again
    expect(page.get_by_role("button", name="Continue")).to_be_visible()
