"""Laws of the charts of Sensitivity: what is drawn is what was computed, and every text is literal."""

import csv
import io
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import plotly
import plotly.graph_objects as go
import pytest

from analysis.answer_groups import groups
from analysis.charts import matrices, metrics, two_models
from analysis.charts.look import LOWERS, RAISES, Look, data_of, describe
from analysis.matrices import PairMatrix, delta_matrix, jsd_matrix, response_matrix
from analysis.metrics import half_widths
from analysis.results import Analysis, Answer
from analysis.sampling import Share
from analysis.sensitivity import ResponseScores, compared
from analysis.two_models import compare
from tests import test_charts as laws
from tests.test_charts import LOOKS, NASTY, as_read
from tests.test_sensitivity import analysis_of, paraphrases

LIGHT = LOOKS[0]


def said(text: str) -> Answer:
    return Answer(text, (1,), (text,), (-1.0,), False)


def answered(analysis: Analysis) -> list[Answer | None]:
    """Every row that was analysed answers with a text that looks like markup."""
    texts = [text or "%{x}" for text in NASTY]
    return [said(texts[place % 3]) if result.trace else None for place, result in enumerate(analysis.prompts)]


def scored(analysis: Analysis, seed: int = 2) -> ResponseScores:
    places = compared(analysis).places
    return ResponseScores(places, (3,) * len(places), -np.random.default_rng(seed).random((len(places),) * 2) * 9)


def shares_of(analysis: Analysis) -> list[Share | None]:
    return [Share(k % 11, 10, 0.1, 0.9) if result.trace else None for k, result in enumerate(analysis.prompts)]


def every_chart(look: Look) -> Iterator[tuple[str, go.Figure]]:
    analysis = laws.nasty()
    answers = answered(analysis)
    yield "delta", matrices.pair_matrix(delta_matrix(analysis), analysis, look, 3)
    yield "jsd", matrices.pair_matrix(jsd_matrix(analysis), analysis, look, 3)
    yield "responses", matrices.pair_matrix(response_matrix(scored(analysis)), analysis, look, 3, answers)
    yield "groups", metrics.answer_groups(groups(analysis, answers), analysis, look, 3)
    yield "groups by contains", metrics.answer_groups(groups(analysis, answers, "contains"), analysis, look)
    yield "order", metrics.best_to_worst(analysis, look, 3)
    yield "resamplings", metrics.resamplings(analysis, look)
    yield "sampled", metrics.sampled(analysis, shares_of(analysis), answers, look, 0.7, selected=3)
    other = replace(analysis, model=replace(analysis.model, name="<b>$x$ %{y}"))
    yield "two models", two_models.two_models(compare(analysis, answers, 0.5, other, answers, None), look, 3)


CHARTS = dict(every_chart(LIGHT))
every = pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS.keys())


@every
def test_the_laws_of_every_chart_hold(chart):
    laws.test_no_text_of_a_user_is_read_as_markup(chart)
    laws.test_text_is_never_in_a_template(chart)
    laws.test_a_figure_is_plain_json_without_nan(chart)
    laws.test_a_figure_is_described_in_one_sentence(chart)
    laws.test_the_data_is_a_table_of_full_rows(chart)
    laws.test_axes_and_titles_are_named(chart)


@pytest.mark.parametrize("look", LOOKS)
def test_every_look_draws_the_same_data(look):
    for name, chart in every_chart(look):
        assert data_of(chart) == data_of(CHARTS[name])


def test_explanations_say_what_is_asked_how_it_is_computed_and_how_it_misleads():
    for module in (metrics, two_models):
        laws.test_explanations_say_what_is_asked_how_it_is_computed_and_how_it_misleads(module)
    for text in matrices.HOW_TO_READ.values():
        holder = type("Module", (), {"HOW_TO_READ": text})
        laws.test_explanations_say_what_is_asked_how_it_is_computed_and_how_it_misleads(holder)


def test_plotly_draws_every_chart_literally(chromium):
    page = chromium.new_page(viewport={"width": 700, "height": 700})
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.set_content("<!doctype html><div id=chart></div>")
    page.add_script_tag(path=Path(plotly.__file__).parent / "package_data" / "plotly.min.js")
    for name, chart in CHARTS.items():
        page.evaluate("text => Plotly.newPlot('chart', JSON.parse(text))", chart.to_json())
        read = {laws.without_isolates(text) for text in page.evaluate(laws.READ, "#chart text")}
        axes = [axis for key, axis in chart.to_dict()["layout"].items() if "axis" in key]
        labels = [label for axis in axes for label in axis.get("ticktext", ())]
        assert {as_read(label) for label in [*labels, chart.layout.title.text]} - {""} <= read, name
    page.close()
    assert problems == []


def table(chart: go.Figure) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data_of(chart), newline="")))


# --- matrices


@pytest.mark.parametrize("rows", [0, 1, 6, 63])
def test_every_pair_is_a_cell_that_can_be_clicked(rows):
    analysis = laws.many(rows)
    for matrix in (delta_matrix(analysis), jsd_matrix(analysis)):
        chart = matrices.pair_matrix(matrix, analysis, LIGHT, 1)
        cells = {(x, y): data for x, y, _, data in laws.marks(chart)}
        assert len(cells) == (rows + 1) ** 2
        assert all(tuple(data) == (y, x) for (x, y), data in cells.items())
        assert chart.layout.height < 900


def test_a_matrix_of_deltas_is_neutral_at_0_and_signs_have_their_colours():
    analysis = analysis_of(paraphrases("a", "b"), 0.8, 0.2)
    chart = matrices.pair_matrix(delta_matrix(analysis), analysis, LIGHT)
    colours = np.array(chart.data[0].z, dtype=float)
    np.testing.assert_allclose(colours, [[0.5, 0.0], [1.0, 0.5]], atol=1e-9)
    assert [chart.data[0].colorscale[0][1], chart.data[0].colorscale[-1][1]] == [LOWERS, RAISES]
    assert sorted(text for _, _, text, _ in laws.marks(chart)) == ["+1.39", "0.00", "0.00", "−1.39"]


def test_small_differences_are_drawn_pale():
    analysis = analysis_of(paraphrases("a", "b"), 0.50, 0.51)
    for matrix, middle in ((delta_matrix(analysis), 0.5), (jsd_matrix(analysis), 0.0)):
        shades = np.array(matrices.pair_matrix(matrix, analysis, LIGHT).data[0].z, dtype=float)
        assert np.abs(shades - middle).max() < 0.03


def test_the_colour_of_a_response_is_its_change_per_token_and_the_number_its_log_prob():
    analysis = analysis_of(paraphrases("a", "b"), 0.5, 0.5)
    matrix = response_matrix(ResponseScores((0, 1), (2, 4), np.array([[-1.0, -9.0], [-3.0, -5.0]])))
    chart = matrices.pair_matrix(matrix, analysis, LIGHT, answers=[said("x"), None])
    np.testing.assert_allclose(np.array(chart.data[0].z, dtype=float), [[0.5, 0.0], [0.0, 0.5]], atol=1e-9)
    assert {(x, y): text for x, y, text, _ in laws.marks(chart)}[1, 0] == "−9.0"
    assert [float(row["log_prob_nats"]) for row in table(chart)] == [-1, -9, -3, -5]


def test_what_could_not_be_computed_has_no_colour():
    analysis = analysis_of(paraphrases("a", "b"), 0.5, 0.5)
    chart = matrices.pair_matrix(PairMatrix("jsd", (0, 1), np.array([[0, np.nan], [np.nan, 0]])), analysis, LIGHT)
    assert chart.data[0].z[0][1] is None
    assert "could not be computed" in json.loads(chart.to_json())["data"][1]["hovertext"][1] or any(
        "could not be computed" in text for part in chart.data[1:] for text in part.hovertext
    )


def test_hovers_of_responses_say_the_answer():
    hovers = [text for part in CHARTS["responses"].data[1:] for text in part.hovertext]
    assert any("the column’s answer: <b>bold</b> & <s>struck</s> </s>" in as_read(text) for text in hovers)


# --- groups, order, resamplings


def test_a_group_is_as_long_as_it_has_wordings_and_has_the_colour_of_its_judgement():
    analysis = analysis_of(paraphrases("a", "b", "c", "d", "e", expected="Paris"), *[0.5] * 5)
    answers = [said(text) for text in ("Rome", "Paris", "Paris", "Paris", "Rome")]
    chart = metrics.answer_groups(groups(analysis, answers), analysis, LIGHT)
    assert list(chart.data[0].x) == [3, 2]
    assert list(chart.data[0].marker.color) == [RAISES, LOWERS]
    assert list(chart.layout.yaxis.ticktext) == ["Paris", "◆ Rome"]
    assert [data[0] for data in chart.data[-1].customdata] == [1, 0]


def test_groups_with_right_and_wrong_answers_are_hatched_and_unjudged_ones_grey():
    analysis = analysis_of(paraphrases("a", "b", expected="Paris"), 0.5, 0.5)
    found = groups(analysis, [said("The Paris"), said("The Rome")], "first line")
    both = replace(found[0], places=(0, 1), judged=2, right=1)
    chart = metrics.answer_groups([both], analysis, LIGHT)
    assert list(chart.data[0].marker.pattern.shape) == ["/"]
    chart = metrics.answer_groups([replace(both, judged=0, right=0)], analysis, LIGHT)
    assert list(chart.data[0].marker.color) == [LIGHT.grey]


def test_no_groups_are_a_chart_that_says_so():
    chart = metrics.answer_groups((), analysis_of(paraphrases("a"), 0.5), LIGHT)
    assert "none to compare" in describe(chart)


def test_wordings_stand_in_falling_order_with_their_mean():
    analysis = analysis_of(paraphrases("a", "b", "c"), 0.2, 0.8, 0.5)
    chart = metrics.best_to_worst(analysis, LIGHT)
    line, dots = chart.data[:2]
    assert list(dots.x) == pytest.approx([math.log(0.8), math.log(0.5), math.log(0.2)])
    assert [data[0] for data in chart.data[-1].customdata] == [1, 2, 0]
    assert line.x[0] == pytest.approx(math.log(0.2 * 0.8 * 0.5) / 3)
    assert "spread 1.39, CPS 0.56" in line.name


def test_a_small_spread_looks_small():
    low, high = metrics.best_to_worst(analysis_of(paraphrases("a", "b"), 0.5, 0.51), LIGHT).layout.xaxis.range
    assert high - low >= 1


def test_the_needed_number_is_marked_where_the_curve_is_low_enough():
    probabilities = np.linspace(0.1, 0.9, 12)
    analysis = analysis_of(paraphrases(*(f"w{k}" for k in range(12))), *probabilities)
    chart = metrics.resamplings(analysis, LIGHT, epsilon=0.1)
    curve, limit, marked = chart.data
    np.testing.assert_allclose(curve.y, half_widths(probabilities), atol=1e-12)
    needed = marked.x[0]
    assert curve.y[needed - 1] <= limit.y[0] < curve.y[needed - 2]
    assert [row["enough"] == "True" for row in table(chart)] == [k >= needed for k in range(1, 13)]


def test_one_wording_needs_no_curve():
    assert "at least two" in describe(metrics.resamplings(analysis_of(paraphrases("a"), 0.5), LIGHT))


# --- sampled answers


def test_shares_have_their_intervals_and_the_greedy_answer_beside_them():
    analysis = analysis_of(paraphrases("a", "b", "c", expected="x"), 0.5, 0.5, 0.5)
    shares = [Share(7, 10, 0.4, 0.9), None, Share(1, 10, 0.02, 0.4)]
    chart = metrics.sampled(analysis, shares, [said("x"), said("x"), said("y")], LIGHT, 0.7)
    bars, dots, right, wrong = chart.data[:4]
    assert list(dots.x) == [0.7, 0.1]
    assert list(bars.x) == [0.4, 0.9, None, 0.02, 0.4, None]
    assert (list(right.x), list(right.y)) == ([1.0], [0])
    assert (list(wrong.x), list(wrong.y)) == ([0.0], [1])
    assert [data[0] for data in chart.data[-1].customdata] == [0, 2]
    assert table(chart)[1]["greedy_right"] == "False"


def test_without_greedy_answers_only_the_samples_are_drawn():
    analysis = analysis_of(paraphrases("a", expected="x"), 0.5)
    chart = metrics.sampled(analysis, [Share(7, 10, 0.4, 0.9)], None, LIGHT, 0.7)
    assert [part.name for part in chart.data] == ["95 % interval", "share of samples", "rows"]


# --- two models


def test_points_are_the_effects_on_both_models_on_equal_axes():
    one, other = laws.many(3, {1: -1.0, 2: 0.5, 3: 2.0}), laws.many(3, {1: -2.0, 2: 0.5, 3: 1.0})
    chart = two_models.two_models(compare(one, None, None, other, None, None), LIGHT)
    points = chart.data[-1]
    np.testing.assert_allclose(np.stack([points.x, points.y], axis=1), [[0, 0], [-1, -2], [0.5, 0.5], [2, 1]])
    assert chart.layout.xaxis.range == chart.layout.yaxis.range
    assert [data[0] for data in points.customdata] == [0, 1, 2, 3]
    assert "ρ" not in chart.layout.title.text


def test_what_does_not_count_is_open():
    analysis = laws.nasty()
    chart = two_models.two_models(compare(analysis, None, None, analysis, None, None), LIGHT)
    shapes = dict(zip([data[0] for data in chart.data[-1].customdata], chart.data[-1].marker.symbol, strict=True))
    assert shapes[1].endswith("-open")  # the reference once more
    assert shapes[2].endswith("-open")  # the control
    assert not shapes[4].endswith("-open")
