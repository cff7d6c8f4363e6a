"""Laws of the charts of Dispersion: what is drawn is what was computed, at every layer, pair and row."""

import csv
import io
import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import plotly
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import taylor
from analysis.charts import bounds, certified, contrast, displacement, layers, pairwise, patching, states
from analysis.charts.look import LOWERS, RAISES, data_of, describe
from analysis.contrast import Contrast
from analysis.contrast import contrast as contrasted
from analysis.dispersion import dispersion, planes
from analysis.patching_results import PatchCurve
from analysis.prompts import PromptSet, Variant
from analysis.remainder import remainder
from analysis.results import Analysis, Note, PromptResult, Trace
from analysis.similarity import distance_matrix, maps
from tests import test_charts as laws
from tests.test_charts import LOOKS, as_read

LAYERS, HIDDEN, VOCABULARY = 5, 6, 50
HEAD = np.random.default_rng(8).normal(size=(VOCABULARY, HIDDEN))
LAST = LAYERS - 1
LIGHT = LOOKS[0]


def with_gradients(analysis: Analysis, seed: int = 0, same_start: bool = False) -> Analysis:
    """The same rows with states and gradients of one target token, the last layer under a linear head."""
    random = np.random.default_rng(seed)
    start = random.normal(size=HIDDEN)
    results: list[PromptResult] = []
    for result in analysis.prompts:
        found = None
        if result.trace is not None:
            hidden, gradient = random.normal(size=(2, LAYERS, HIDDEN))
            if same_start:
                hidden[0] = start
            logits = HEAD @ hidden[-1]
            log_probs = logits - np.log(np.exp(logits).sum())
            wanted = result.trace.target.ids[0] + result.row.own_target
            gradient[-1] = HEAD[wanted] - np.exp(log_probs) @ HEAD
            first = replace(result.trace.target, ids=(wanted,), pieces=result.trace.target.pieces[:1], names=())
            found = Trace(
                tokens=result.trace.tokens,
                target=first,
                target_log_probs=log_probs[[wanted]],
                next_log_probs=log_probs,
                hidden=hidden[None],
                gradient=gradient[None],
                saliency=None,
                gradient_x_input=None,
            )
        results.append(replace(result, trace=found))
    return replace(analysis, prompts=tuple(results))


def usual(count: int = 4, **options: object) -> Analysis:
    return with_gradients(laws.many(count), **options)  # type: ignore[arg-type]


def traced(analysis: Analysis) -> tuple[list[PromptResult], list[Trace]]:
    rows = [result for result in analysis.prompts if result.trace]
    return rows, [row.trace for row in rows if row.trace]


def compared(analysis: Analysis) -> list[certified.Compared]:
    found: list[certified.Compared] = []
    for pair in taylor.against_reference(analysis):
        a, b = (analysis.prompts[place].trace for place in (pair.a, pair.b))
        token = pair.tokens[0]
        assert a is not None
        assert b is not None
        rest = None
        if token.delta is not None and token.upper is not None:
            rest = remainder(token.delta, token.upper, a.next_log_probs, b.next_log_probs)
        found.append((analysis.prompts[pair.b], token, rest))
    return found


def curves(analysis: Analysis, seed: int = 3) -> list[tuple[PromptResult, PatchCurve]]:
    random = np.random.default_rng(seed)
    return [(row, PatchCurve(0, random.normal(size=LAYERS))) for row in traced(analysis)[0][1:]]


def pair_of(analysis: Analysis, place: int = 1) -> tuple[taylor.TokenPair, PromptResult, PromptResult]:
    return taylor.pair(analysis, 0, place).tokens[0], analysis.prompts[0], analysis.prompts[place]


def compared_with_faults(analysis: Analysis) -> list[certified.Compared]:
    failed = replace(analysis.prompts[1], trace=None, notes=(Note("error", "row <b>1</b> has $0 tokens"),))
    return [*compared(analysis), (failed, None, None)]


def every_chart(look: laws.Look) -> Iterator[tuple[str, go.Figure]]:
    analysis = with_gradients(laws.nasty())
    rows, traces = traced(analysis)
    found = dispersion(traces)
    yield "distances of all pairs", states.distance_by_layer(found, rows, look, "cosine", True, 2, all_pairs=True)
    yield "animation", states.plane_animation(planes(traces), rows, look, 3)
    yield "animation of maps", states.plane_animation(maps(found, "cosine"), rows, look, view="cosine", start=0)
    yield "map", states.plane(maps(found, "relative")[2], rows, 2, LAST, look, view="relative")
    yield "contrast", contrast.contrast(contrasted(traces[:4], traces[4:]), "<b>$x$", look, "raw", others_name="%{y}")
    yield (
        "gradient and displacement",
        displacement.gradient_and_displacement(
            taylor.gradient_norms(traces), found.from_reference.raw, rows, look, True, 2
        ),
    )
    yield "bound of a pair", bounds.pair_bound(*pair_of(analysis), look)
    yield "bounds", bounds.bound_over_pairs([pair.tokens[0] for pair in taylor.pairs(analysis)], look)
    yield "certified", certified.certified(compared_with_faults(analysis), look, target="<b>$x$", selected=2)
    yield (
        "not certified",
        certified.certified(compared(analysis), look, target="%{x}", reason="the <b>head</b> costs $5, not $6"),
    )
    row, curve = curves(analysis)[0]
    yield (
        "patch curve",
        patching.patch_curve(curve, rows[0], row, look, target="$x$", taylor=np.linspace(-50, 1, LAYERS)),
    )
    yield "patch heatmap", patching.patch_heatmap(curves(analysis), look, target="<i>", selected=2)
    yield "pairs", pairwise.distances(distance_matrix(found, 2, "raw"), rows, 2, LAST, look, "raw", 2)


CHARTS = dict(every_chart(LIGHT))
every = pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS.keys())


# --- every chart


@every
def test_no_text_of_a_user_is_read_as_markup(chart):
    laws.test_no_text_of_a_user_is_read_as_markup(chart)


@every
def test_text_is_never_in_a_template(chart):
    laws.test_text_is_never_in_a_template(chart)


@every
def test_a_figure_is_plain_json_without_nan(chart):
    laws.test_a_figure_is_plain_json_without_nan(chart)
    assert not any("nan" in as_read(text).split() for text in laws.drawn(chart))


@every
def test_a_figure_is_described_in_one_sentence(chart):
    laws.test_a_figure_is_described_in_one_sentence(chart)
    assert "nan" not in describe(chart)


@every
def test_the_data_is_a_table_of_full_rows(chart):
    laws.test_the_data_is_a_table_of_full_rows(chart)


@every
def test_axes_and_titles_are_named(chart):
    laws.test_axes_and_titles_are_named(chart)


@pytest.mark.parametrize("look", LOOKS)
def test_every_look_draws_the_same_data(look):
    for name, chart in every_chart(look):
        assert data_of(chart) == data_of(CHARTS[name])


def test_a_click_names_a_wording_of_the_set():
    indices = {result.row.index for result in laws.nasty().prompts}
    for name, chart in CHARTS.items():
        clicked = [data for part in chart.data if part.customdata is not None for data in part.customdata]
        assert {data[0] for data in clicked} <= indices
        assert bool(clicked) == (name not in ("contrast", "bounds")), name


@pytest.mark.parametrize("module", [bounds, certified, contrast, displacement, pairwise, patching])
def test_explanations_say_what_is_asked_how_it_is_computed_and_how_it_misleads(module):
    laws.test_explanations_say_what_is_asked_how_it_is_computed_and_how_it_misleads(module)


def test_plotly_draws_every_chart_literally(chromium):
    page = chromium.new_page(viewport={"width": 700, "height": 700})
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.set_content("<!doctype html><div id=chart></div>")
    page.add_script_tag(path=Path(plotly.__file__).parent / "package_data" / "plotly.min.js")
    for name, chart in CHARTS.items():
        page.evaluate("text => Plotly.newPlot('chart', JSON.parse(text))", chart.to_json())
        read = {laws.without_isolates(text) for text in page.evaluate(laws.READ, "#chart text")}
        axes = [axis for key, axis in chart.to_dict()["layout"].items() if "axis" in key]
        labels = [label for axis in axes for label in axis.get("ticktext", ())]
        assert {as_read(label) for label in [*labels, chart.layout.title.text]} - {""} <= read, name
        if chart.frames:
            page.evaluate("() => Plotly.animate('chart', ['1'], {mode: 'immediate', transition: {duration: 0}})")
            page.wait_for_function("() => document.querySelector('.gtitle').textContent === 'States at layer 1 of 4'")
            drawn = page.evaluate("() => [chart.data[1].x, chart.data[1].customdata]")
            assert drawn[0] == pytest.approx(list(chart.frames[1].data[1]["x"]))
            assert [data[0] for data in drawn[1]] == [data[0] for data in chart.data[1].customdata]
    page.close()
    assert said == []


# --- distances


def test_the_line_over_all_pairs_is_their_mean_and_most_of_them_lie_in_the_band():
    rows, traces = traced(usual(6))
    found = dispersion(traces)
    for view in ("raw", "relative", "cosine"):
        band, *lines = states.distance_by_layer(found, rows, LIGHT, view, all_pairs=True).data
        every_pair = [[getattr(taylor.compare(a, b), {"raw": "distance"}.get(view, view)) for a, b in
                       itertools.combinations(traces, 2)]]  # fmt: skip
        np.testing.assert_allclose(lines[-1].y, np.mean(every_pair, axis=1)[0], rtol=1e-9)
        high, low = np.array(band.y[:LAYERS]), np.array(band.y[LAYERS:][::-1])
        inside = (np.array(every_pair[0]) >= low) & (np.array(every_pair[0]) <= high)
        assert (inside.mean(axis=0) >= 0.79).all()
        assert (inside.mean(axis=0) < 1).all()


def test_one_pair_has_no_spread():
    rows, traces = traced(usual(1))
    chart = states.distance_by_layer(dispersion(traces), rows, LIGHT, all_pairs=True)
    assert [part.name for part in chart.data] == ["rewording 1"]


def test_zeros_have_no_place_in_a_logarithmic_band():
    rows, traces = traced(usual(5, same_start=True))
    chart = states.distance_by_layer(dispersion(traces), rows, LIGHT, log=True, all_pairs=True)
    assert min(chart.data[0].y) == pytest.approx(10 ** chart.layout.yaxis.range[0])
    assert all(part.y[0] is None for part in chart.data[1:])


# --- the plane


def test_every_frame_is_its_layers_picture_scaled_to_a_mean_distance_of_one():
    rows, traces = traced(usual(6))
    found = planes(traces)
    chart = states.plane_animation(found, rows, LIGHT)
    assert [frame.name for frame in chart.frames] == [str(layer) for layer in range(LAYERS)]
    assert [step.args[0] for step in chart.layout.sliders[0].steps] == [(str(layer),) for layer in range(LAYERS)]
    for layer, frame in enumerate(chart.frames):
        xy = np.stack([frame.data[1]["x"], frame.data[1]["y"]], axis=1)
        scale = np.hypot(*found[layer].xy.T).mean()
        np.testing.assert_allclose(xy * scale, found[layer].xy, atol=1e-12)
        assert f"1 = {scale:.3g} model units" in frame.layout.title.subtitle.text
        for axis, values in ((chart.layout.xaxis, xy[:, 0]), (chart.layout.yaxis, xy[:, 1])):
            assert axis.range[0] < values.min() <= values.max() < axis.range[1]


def test_a_picture_opens_at_the_layer_asked_for():
    rows, traces = traced(usual(3))
    for start, layer in ((None, LAST), (2, 2), (0, 0)):
        chart = states.plane_animation(planes(traces), rows, LIGHT, start=start)
        assert f"layer {layer} of {LAST}" in chart.layout.title.text
        assert chart.layout.sliders[0].active == layer
        assert list(chart.data[1].x) == list(chart.frames[layer].data[1]["x"])


def test_equal_states_are_one_spot_that_says_so():
    rows, traces = traced(usual(3, same_start=True))
    frame = states.plane_animation(planes(traces), rows, LIGHT).frames[0]
    assert set(frame.data[1]["x"]) == {0.0}
    assert frame.layout.title.subtitle.text == "all states are equal here"


def test_a_map_states_its_stress():
    assert "stress" in CHARTS["map"].layout.title.subtitle.text
    assert "of the spread" not in CHARTS["map"].layout.xaxis.title.text


# --- one intent against others


def test_the_ratio_is_within_over_between_and_missing_where_there_is_nothing_to_compare():
    _, traces = traced(usual(5, same_start=True))
    found: Contrast = contrasted(traces[:3], traces[3:])
    within, between, ratio = contrast.contrast(found, "own", LIGHT, "cosine").data
    assert ratio.y[0] is None
    np.testing.assert_allclose(np.array(ratio.y[1:]) * np.array(between.y[1:]), within.y[1:])
    chart = CHARTS["contrast"]
    level = chart.layout.shapes[0]
    assert (level.yref, level.y0, level.y1) == ("y2", 1, 1)
    assert chart.layout.yaxis2.range[1] > 1


# --- gradient, displacement and bound


def test_gradients_and_distances_are_drawn_as_they_are():
    rows, traces = traced(usual(3))
    norms, distances = taylor.gradient_norms(traces), dispersion(traces).from_reference.raw
    chart = displacement.gradient_and_displacement(norms, distances, rows, LIGHT, log=False)
    upper = [part for part in chart.data if part.yaxis == "y"]
    lower = [part for part in chart.data if part.yaxis == "y2"]
    np.testing.assert_allclose(upper[-1].y, np.linalg.norm(traces[0].gradient[0], axis=-1))  # the reference on top
    np.testing.assert_allclose([part.y for part in upper[:-1]], norms[1:])
    np.testing.assert_allclose([part.y for part in lower], distances[1:])


def test_a_prompt_without_gradients_leaves_a_gap():
    rows, traces = traced(usual(2))
    norms = taylor.gradient_norms([replace(traces[0], gradient=None), *traces[1:]])
    chart = displacement.gradient_and_displacement(norms, dispersion(traces).from_reference.raw, rows, LIGHT)
    reference = [part for part in chart.data if part.yaxis == "y"][-1]
    assert set(reference.y) == {None}
    assert "could not be computed" in reference.hovertext[0]


@pytest.mark.parametrize("log", [False, True])
def test_crosses_stand_on_the_bound_at_the_violated_layers_and_nowhere_else(log):
    analysis = usual(1, same_start=True)
    found, a, b = pair_of(analysis)
    tight = replace(found, delta=1.0, bound=np.array([0.0, 0.5, 1.0, 0.99995, 2.0]))
    chart = bounds.pair_bound(tight, a, b, LIGHT, log)
    crosses = next(part for part in chart.data if part.name == "violated")
    assert list(crosses.x) == [0, 1]  # 1 ± 0.0001 is no violation
    assert crosses.y[1] == 0.5
    assert crosses.y[0] == (pytest.approx(10 ** chart.layout.yaxis.range[0]) if log else 0)
    assert "violated at 2 of 5 layers (0–1)" in describe(chart)
    kept = bounds.pair_bound(replace(found, delta=0.0), a, b, LIGHT, log)
    assert "violated" not in [part.name for part in kept.data]


def test_bars_count_the_violations_of_all_pairs():
    found = [pair.tokens[0] for pair in taylor.pairs(usual(5, same_start=True))]
    counts, total = taylor.violations(found)
    chart = bounds.bound_over_pairs(found, LIGHT)
    bars = next(part for part in chart.data if part.name == "violations")
    assert total == len(found) == 15
    assert list(bars.y) == [sum(abs(p.delta) > p.bound[layer] + 1e-4 for p in found) for layer in range(LAYERS)]
    assert list(bars.y) == counts.tolist()
    assert counts[0] == 15  # equal states: a bound of 0
    mean = next(part for part in chart.data if part.name == "|Δ|")
    np.testing.assert_allclose(mean.y, np.mean([abs(p.delta) for p in found]))


def test_what_has_no_bound_is_refused_in_a_sentence():
    found, a, b = pair_of(usual(1))
    none = replace(found, bound=None, taylor=None)
    with pytest.raises(ValueError, match="reference and rewording 1 have no bound"):
        bounds.pair_bound(none, a, b, LIGHT)
    with pytest.raises(ValueError, match="no pair has a bound"):
        bounds.bound_over_pairs([none], LIGHT)
    assert taylor.violations([none])[1] == 0


@given(st.sets(st.integers(0, 40)))
def test_layers_are_named_in_runs(chosen):
    named = bounds.layer_ranges(sorted(chosen))
    ends = [list(map(int, part.split("–"))) for part in named.split(", ")] if named else []
    assert {layer for run in ends for layer in range(run[0], run[-1] + 1)} == chosen


# --- certified ranges


@given(st.integers(0, 500), st.booleans())
def test_the_change_lies_in_its_range_and_the_first_order_at_its_upper_end(seed, linear):
    chart = certified.certified(compared(usual(3, seed=seed)), LIGHT, target="y", linear=linear)
    ranges, delta, first, second, *_ = chart.data
    low, high = np.array(ranges.base), np.array(ranges.base) + np.array(ranges.x)
    assert (low <= np.array(delta.x) + 1e-9).all()
    assert (np.array(delta.x) <= high + 1e-9).all()
    np.testing.assert_allclose(first.x, high)
    np.testing.assert_allclose(second.y, delta.y)
    assert (np.array(second.x) <= high + 1e-9).all()  # the second-order term is never positive
    left, right = chart.layout.xaxis.range
    for part in (delta, first, second):
        assert all(left < value < right for value in part.x)


def test_a_long_range_leaves_the_short_ones_readable_and_is_not_cut():
    found = compared(usual(2))
    (row, pair, _), (other, second, _) = found
    long, short = replace(pair, lower=-59.0, delta=-20.0, upper=1.0), replace(second, lower=-1.5, delta=-1.0, upper=0.5)
    chart = certified.certified([(row, long, None), (other, short, None)], LIGHT, target="y")
    left, right = chart.layout.xaxis.range
    shares = np.array(chart.data[0].x) / (right - left)
    assert shares[0] < 1
    assert shares[1] > 0.2
    np.testing.assert_allclose(np.sinh(chart.data[0].base), [-59.0, -1.5])
    places, names = chart.layout.xaxis.tickvals, chart.layout.xaxis.ticktext
    for place, name in zip(places, names, strict=True):
        assert math.sinh(place) == pytest.approx(float(name.replace("−", "-")))
        assert left <= place <= right
    assert min(np.diff(places)) > 0.15 * (right - left)


def test_a_range_is_coloured_by_what_all_of_it_says():
    row, pair, rest = compared(usual(1))[0]
    shades = []
    for lower, upper in ((0.1, 2.0), (-2.0, -0.1), (-1.0, 1.0)):
        one = replace(pair, lower=lower, upper=upper, delta=(lower + upper) / 2)
        shades.append(certified.certified([(row, one, rest)], LIGHT, target="y").data[0].marker.color[0])
    assert shades == [RAISES, LOWERS, LIGHT.muted]


def test_rows_without_a_range_say_why():
    chart = CHARTS["certified"]
    reasons = dict(zip(chart.data[4].y, chart.data[4].text, strict=True))
    assert set(reasons.values()) == {"not valid: other target", "no result"}
    hovers = [as_read(hover) for hover in chart.data[-1].hovertext]
    assert "row <b>1</b> has $0 tokens" in hovers[-1]
    assert all("not valid here" in as_read(hover) for hover in CHARTS["not certified"].data[-1].hovertext)
    assert "the <b>head</b> costs $5, not $6" in as_read(CHARTS["not certified"].data[-1].hovertext[0])
    assert "no wording has one" in describe(CHARTS["not certified"])


def test_without_gradients_the_range_comes_from_the_divergences():
    found = compared(usual(3))
    blind = [(row, replace(pair, taylor=None, bound=None, lower=None, upper=None), rest) for row, pair, rest in found]
    with_them, without = (certified.certified(given_rows, LIGHT, target="y") for given_rows in (found, blind))
    np.testing.assert_allclose(with_them.data[0].base, without.data[0].base, atol=1e-6)
    np.testing.assert_allclose(with_them.data[0].x, without.data[0].x, atol=1e-6)


def test_factors_of_a_probability_are_short():
    given_nats = (0.0, math.log(2), -math.log(2), math.log(12), -30.0, 30.0)
    assert [certified.factor(nats) for nats in given_nats] == ["1.0", "2.0", "0.5", "12", "10⁻¹³", "10¹³"]


# --- patching


def test_a_patch_curve_ends_at_the_change_and_its_largest_step_is_named():
    analysis = usual(1)
    a, b = analysis.prompts
    curve = PatchCurve(0, np.array([0.0, 0.1, -2.0, -2.2, -2.1]))
    chart = patching.patch_curve(curve, a, b, LIGHT, target=" Paris", taylor=np.array([0.0, 0.2, 9.0, -9.0, -2.0]))
    delta, estimate, outside, patched = chart.data
    assert set(delta.y) == {patched.y[-1]} == {-2.1}
    assert list(estimate.y) == [0.0, 0.2, None, None, -2.0]
    assert list(outside.x) == [2, 3]
    assert list(outside.y) == [chart.layout.yaxis.range[1], chart.layout.yaxis.range[0]]
    assert "between layers 1 and 2" in chart.layout.title.text
    assert [(shape.x0, shape.x1) for shape in chart.layout.shapes if shape.type == "rect"] == [(1, 2)]
    assert "T = +9.000" in patched.hovertext[2]


def test_steps_below_the_noise_are_not_named_and_small_effects_are_drawn_small():
    analysis = usual(1)
    curve = PatchCurve(0, np.array([0.0, 0.001, 0.009, 0.008, 0.008]))
    chart = patching.patch_curve(curve, *analysis.prompts, LIGHT, target="y", noise=0.01)
    assert as_read(chart.layout.title.text) == "Patch curve"
    assert [shape.type for shape in chart.layout.shapes] == ["line"]
    assert chart.layout.yaxis.range[1] - chart.layout.yaxis.range[0] >= 1
    steps = patching.patch_heatmap([(analysis.prompts[1], curve)], LIGHT, target="y", noise=0.01).data[1]
    assert not steps.x


def test_the_curve_of_a_pair_that_ends_at_the_reference_selects_the_other():
    analysis = usual(1)
    reference, other = analysis.prompts
    curve = PatchCurve(0, np.arange(LAYERS, dtype=float))
    for pair in ((reference, other), (other, reference)):
        chart = patching.patch_curve(curve, *pair, LIGHT, target="y")
        assert {data[0] for part in chart.data for data in part.customdata or ()} == {1}


def test_a_heatmap_of_curves_is_neutral_at_zero_with_one_scale_for_all_rows():
    found = curves(usual(3))
    chart = patching.patch_heatmap(found, LIGHT, target="y")
    heat, steps = chart.data[0], chart.data[1]
    effects = np.array([curve.effect for _, curve in found])
    np.testing.assert_allclose(2 * np.array(heat.z) - 1, effects / np.abs(effects).max())
    assert heat.colorscale[1] == (0.5, LIGHT.neutral)
    assert list(heat.colorbar.tickvals) == [0.0, 0.5, 1.0]
    assert [x - 0.5 for x in steps.x[::3]] == [curve.jump for _, curve in found]
    cells = {tuple(data) for part in chart.data if part.name == "cells" for data in part.customdata}
    assert cells == {(row.row.index, layer) for row, _ in found for layer in range(LAYERS)}


def test_an_effect_that_could_not_be_computed_has_no_colour():
    analysis = usual(2)
    broken = PatchCurve(0, np.array([0.0, np.nan, 1.0, 1.0, np.inf]))
    rows = [(analysis.prompts[1], broken), (analysis.prompts[2], PatchCurve(0, np.ones(LAYERS)))]
    chart = patching.patch_heatmap(rows, LIGHT, target="y")
    laws.test_a_figure_is_plain_json_without_nan(chart)
    assert [value is None for value in chart.data[0].z[0]] == [False, True, False, False, True]
    one = patching.patch_curve(broken, analysis.prompts[0], analysis.prompts[1], LIGHT, target="y")
    laws.test_a_figure_is_plain_json_without_nan(one)
    assert "could not be computed" in describe(one)


# --- pairs


@pytest.mark.parametrize("count", [1, 2, 9, 12, 64])
def test_cells_hold_the_distance_of_the_wordings_that_they_name(count):
    rows, traces = traced(usual(count))
    matrix = distance_matrix(dispersion(traces), 3, "relative")
    chart = pairwise.distances(matrix, rows, 3, LAST, LIGHT, "relative", selected=1)
    places = {row.row.index: place for place, row in enumerate(rows)}
    seen = set()
    for part in chart.data[1:]:
        for x, y, data in zip(part.x, part.y, part.customdata, strict=True):
            value = matrix[places[data[0]], places[data[1]]] / matrix.max()
            assert chart.data[0].z[y][x] == pytest.approx(value)
            seen.add(tuple(data))
    assert len(seen) == len(rows) ** 2
    assert chart.layout.height < 900
    named = [as_read(label) for label in chart.layout.yaxis.ticktext]
    assert "◆ reference" in named
    assert "● rewording 1" in named
    assert len(named) == (len(rows) if count < 40 else 2)


def test_a_frame_is_around_the_reference():
    rows, traces = traced(usual(5))
    chart = pairwise.distances(distance_matrix(dispersion(traces), 1, "raw"), rows, 1, LAST, LIGHT)
    place = [as_read(label) for label in chart.layout.yaxis.ticktext].index("◆ reference")
    assert {(s.x0, s.x1, s.y0, s.y1) for s in chart.layout.shapes} == {
        (-0.5, 5.5, place - 0.5, place + 0.5),
        (place - 0.5, place + 0.5, -0.5, 5.5),
    }


def test_the_table_of_pairs_has_every_pair_once():
    rows, traces = traced(usual(4))
    matrix = distance_matrix(dispersion(traces), 2, "raw")
    found = csv.DictReader(io.StringIO(data_of(pairwise.distances(matrix, rows, 2, LAST, LIGHT)), newline=""))
    given_pairs = {(int(row["row_a"]), int(row["row_b"])): float(row["raw"]) for row in found}
    assert given_pairs == {pair: pytest.approx(matrix[pair]) for pair in itertools.combinations(range(5), 2)}


def test_equal_states_have_no_colour_and_are_called_equal():
    rows, traces = traced(usual(3, same_start=True))
    chart = pairwise.distances(distance_matrix(dispersion(traces), 0, "cosine"), rows, 0, LAST, LIGHT, "cosine")
    assert {value for line in chart.data[0].z for value in line} == {0.0}
    assert "all equal" in describe(chart)


# --- panels


def test_panels_stand_above_one_another_over_one_axis_of_layers():
    for name in ("contrast", "gradient and displacement", "bounds"):
        layout = CHARTS[name].layout
        assert layout.xaxis.anchor == "y2"
        assert (
            0
            <= layout.yaxis2.domain[0]
            < layout.yaxis2.domain[1]
            < layout.yaxis.domain[0]
            < layout.yaxis.domain[1]
            <= 1
        )
        assert {part.xaxis for part in CHARTS[name].data} == {None}


def test_rows_of_many_have_names_only_where_they_fit():
    for count, named in ((layers.NAMED_LINES, True), (40, False)):
        rows, traces = traced(usual(count))
        norms, moved = taylor.gradient_norms(traces), dispersion(traces).from_reference.raw
        chart = displacement.gradient_and_displacement(norms, moved, rows, LIGHT)
        assert any("rewording 3" in note.text for note in chart.layout.annotations) == named
        json.loads(chart.to_json())


def test_a_set_of_one_prompt_is_drawn():
    analysis = with_gradients(laws.analysed(PromptSet("alone", ()), laws.target(" x")))
    rows, traces = traced(analysis)
    found = dispersion(traces)
    states.plane_animation(planes(traces), rows, LIGHT)
    pairwise.distances(distance_matrix(found, 0, "raw"), rows, 0, LAST, LIGHT)
    displacement.gradient_and_displacement(taylor.gradient_norms(traces), found.from_reference.raw, rows, LIGHT)
    assert "there is no pair" in describe(pairwise.distances(np.zeros((1, 1)), rows, 0, LAST, LIGHT))


def test_labels_of_200_characters_are_shortened():
    variants = (Variant("a", label="x" * 200), Variant("b", label="word " * 40))
    analysis = with_gradients(laws.analysed(PromptSet("reference", variants), laws.target(" x")))
    chart = certified.certified(compared(analysis), LIGHT, target="y" * 200)
    assert all(len(as_read(label)) <= 28 for label in chart.layout.yaxis.ticktext)
    assert len(as_read(chart.layout.title.text)) < 50
