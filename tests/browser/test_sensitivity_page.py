"""Sensitivity in a real browser: clicks select everywhere, work is asked for and stopped, files hold it all."""

import csv
import io
import json
import re
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from analysis.prompts import PromptSet, Variant
from tests.browser import dashboard
from tests.browser.conftest import wait_until_idle
from tests.browser.hostile_texts import HOSTILE
from tests.browser.test_literal_text import in_charts, interpreted, svg_texts

SMALL = PromptSet(
    "The capital of France is",
    (Variant("France's capital is"), Variant("The capital of Spain is", label="Spain")),
    target=" Paris",
    expected="Paris",
    response_tokens=1,
)
CHARTS = ("answer-groups", "pair-matrix", "best-to-worst", "wordings-needed", "edits")


@pytest.fixture
def page(tiny_app, open_page):
    page = open_page(dashboard.link(tiny_app, SMALL, "sensitivity"))
    expect(page.locator(".st-key-edits .js-plotly-plot .main-svg").first).to_be_visible()  # the answers are there
    return page


def chosen(page):
    return page.get_by_role("combobox", name="Wording").first


def test_every_chart_is_drawn(page):
    for key in CHARTS:
        expect(page.locator(f".st-key-{key} .js-plotly-plot .main-svg").first).to_be_visible()


def test_a_click_in_a_chart_selects_the_wording_on_the_whole_page(page):
    page.locator(".st-key-pair-matrix").scroll_into_view_if_needed()
    for row, name in ((2, "Spain"), (1, "rewording 1"), (2, "Spain")):
        dashboard.click_in(page.locator(".st-key-pair-matrix .nsewdrag").first, 0.5, (row + 0.5) / 3)
        expect(chosen(page)).to_have_value(name)


def test_a_row_of_the_table_says_what_its_metric_is(page):
    table = page.locator(".st-key-metrics-table canvas").first
    table.scroll_into_view_if_needed()
    table.click(position={"x": 15, "y": 50}, force=True)
    wait_until_idle(page)
    expect(page.get_by_text(re.compile("^Share of the rewordings whose greedy answer")).first).to_be_visible()


def test_samples_and_noise_are_in_the_file(page):
    dashboard.press(page, re.compile("^Sample "))
    expect(page.locator(".st-key-sampled-answers .js-plotly-plot .main-svg").first).to_be_visible()
    dashboard.press(page, re.compile("^Make .* baselines"))
    expect(page.locator(".st-key-noise .js-plotly-plot .main-svg").first).to_be_visible()
    dashboard.open_popover(page, "export")
    result = json.loads(dashboard.download(page, re.compile("All results")).path().read_text(encoding="utf-8"))
    assert [row["count"] for row in result["sampled"]["rows"]] == [10, 10, 10]
    (test,) = result["noise"]
    assert test["row"] in (1, 2)
    edits = next(edits for edits in result["edits"] if edits["row"] == test["row"])
    total = sum(hunk["value"] for hunk in edits["hunks"])
    assert total + edits["residual"] == pytest.approx(edits["delta"], abs=1e-6)
    assert edits["residual"] == pytest.approx(0, abs=1e-4)
    assert {metric["key"] for metric in result["sensitivity"]["metrics"]} >= {"posix", "pss", "flip_rate", "jsd"}
    metrics = dashboard.download(page, re.compile("row per metric")).path().read_text(encoding="utf-8-sig")
    assert len(list(csv.DictReader(io.StringIO(metrics)))) == len(result["sensitivity"]["metrics"])
    pairs = dashboard.download(page, re.compile("row per pair")).path().read_text(encoding="utf-8-sig")
    assert {row["matrix"] for row in csv.DictReader(io.StringIO(pairs))} == {"delta", "jsd", "response"}


def test_work_can_be_stopped_and_goes_on_when_asked(default_app, open_page):
    page = open_page(dashboard.link(default_app, replace(SMALL, response_tokens=8), "sensitivity"))
    page.get_by_label("Samples of each wording").fill("100")
    page.get_by_label("Samples of each wording").blur()
    wait_until_idle(page)
    page.get_by_role("button", name=re.compile("^Sample ")).click()
    page.get_by_role("button", name="Stop", exact=True).click(timeout=60_000)
    expect(page.get_by_text("Stopped: sampling answers.").first).to_be_visible(timeout=60_000)
    expect(dashboard.finding(page)).to_contain_text("wordings")
    dashboard.press(page, "Continue")
    expect(page.get_by_text("Stopped: sampling answers.")).to_have_count(0)


def test_hostile_labels_are_literal_in_every_chart(tiny_app, open_page):
    texts = [HOSTILE[key] for key in ("image", "bold", "formula", "colour", "right to left")]
    prompt_set = PromptSet(
        "one two", tuple(Variant(f"one {k}", label=text) for k, text in enumerate(texts)), target=HOSTILE["bold"],
        expected=HOSTILE["bold"], response_tokens=1,
    )  # fmt: skip
    page = open_page(dashboard.link(tiny_app, prompt_set, "sensitivity"))
    expect(page.locator(".st-key-best-to-worst .js-plotly-plot .main-svg").first).to_be_visible()
    assert interpreted(page) == []
    found = svg_texts(page, "best-to-worst")
    for text in texts:
        assert any(one.endswith(in_charts(text)) for one in found), text
