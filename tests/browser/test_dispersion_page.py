"""Dispersion in a real browser: clicks select everywhere, charts hold hostile labels, and work can be stopped."""

import json
import re

import pytest
from playwright.sync_api import expect

from analysis.prompts import PromptSet, Variant
from tests.browser import dashboard
from tests.browser.conftest import wait_until_idle
from tests.browser.hostile_texts import HOSTILE
from tests.browser.test_literal_text import in_charts, interpreted, svg_texts

SMALL = PromptSet(
    "The capital of France is",
    (Variant("France's capital is"), Variant("What is the capital of France?", label="a question")),
    target=" Paris",
    response_tokens=1,
)
CHARTS = {
    "distance-by-layer",
    "factors",
    "bound-by-layer",
    "certified",
    "patch-curve",
    "patch-heatmap",
    "plane-by-layer",
    "pairwise-distances",
}


@pytest.fixture
def page(tiny_app, open_page):
    return open_page(dashboard.link(tiny_app, SMALL, "dispersion"))


def test_every_chart_is_drawn(page):
    for key in CHARTS:
        expect(page.locator(f".st-key-{key} .js-plotly-plot .main-svg").first).to_be_visible()


def test_a_click_in_a_chart_selects_the_wording_on_the_whole_page(page):
    page.get_by_role("combobox", name="Wording").first.scroll_into_view_if_needed()
    for row, name in enumerate(("rewording 1", "a question")):
        dashboard.click_in(page.locator(".st-key-certified .nsewdrag").first, 0.5, (row + 0.5) / 2)
        expect(page.get_by_role("combobox", name="Wording").first).to_have_value(name)
        expect(page.get_by_text(f"reference with the states of {name}:").first).to_be_visible()


def test_a_click_in_a_part_that_updates_by_itself_selects_on_the_whole_page_too(page):
    chosen = set()
    for row in range(3):
        dashboard.click_in(page.locator(".st-key-pairwise-distances .nsewdrag").first, 0.5, (row + 0.5) / 3)
        name = page.get_by_role("combobox", name="Wording").first.input_value()
        expect(page.get_by_text(f"reference with the states of {name}:").first).to_be_visible()
        chosen.add(name)
    assert chosen == {"rewording 1", "a question"}


def test_hostile_labels_are_literal_in_every_chart(tiny_app, open_page):
    texts = [HOSTILE[key] for key in ("image", "bold", "formula", "colour", "right to left")]
    prompt_set = PromptSet(
        "one two", tuple(Variant(f"one {k}", label=text) for k, text in enumerate(texts)), target=HOSTILE["bold"]
    )
    page = open_page(dashboard.link(tiny_app, prompt_set, "dispersion"))
    assert interpreted(page) == []
    for key in ("certified", "patch-heatmap"):
        found = svg_texts(page, key)
        for text in texts:
            assert any(one.endswith(in_charts(text)) for one in found), (key, text)


def test_the_plane_moves_from_layer_to_layer(page):
    title = page.locator(".st-key-plane-by-layer .gtitle").first
    before = title.text_content()
    page.locator(
        ".st-key-plane-by-layer .slider-rail-touch-rect, .st-key-plane-by-layer .slider-rail-rect"
    ).first.click(position={"x": 5, "y": 5}, force=True)
    expect(title).not_to_have_text(before)


def test_a_small_network_is_trained_in_the_page(page):
    dashboard.press(page, re.compile("^Train it"))
    expect(page.locator(".st-key-digits .js-plotly-plot .main-svg").first).to_be_visible()
    expect(page.get_by_text(re.compile("images of one digit are .* times as far apart")).first).to_be_visible()


def test_another_intent_is_chosen_from_the_list(page):
    dashboard.open_options(page, "Prompts of a different intent").first.click()
    page.keyboard.press("Escape")
    wait_until_idle(page)
    expect(page.get_by_text(re.compile("times as far apart as from the other sets")).first).to_be_visible()
    expect(page.locator(".st-key-contrast .js-plotly-plot .main-svg").first).to_be_visible()


def test_the_export_holds_what_both_pages_computed(tiny_app, open_page):
    page = open_page(dashboard.link(tiny_app, SMALL))  # Explore writes the answers
    page.get_by_role("link", name="Dispersion").first.click()
    wait_until_idle(page)
    dashboard.open_popover(page, "export")
    result = json.loads(dashboard.download(page, re.compile("JSON")).path().read_text(encoding="utf-8"))
    assert [(patch["a"], patch["b"]) for patch in result["patches"]] == [(0, 1), (0, 2)]
    for patch in result["patches"]:
        pair = next(pair for pair in result["pairs"] if (pair["a"], pair["b"]) == (0, patch["b"]))
        assert patch["effect"][-1] == pytest.approx(pair["delta_log_prob"], abs=1e-4)
    assert result["sensitivity"]["posix"] is not None
    assert [row["answer"] is not None for row in result["prompts"]] == [True] * 3
    report = dashboard.download(page, re.compile("Report")).path().read_text(encoding="utf-8")
    assert "What is certain" in report
