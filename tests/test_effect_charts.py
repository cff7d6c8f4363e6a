"""Pictures and sentences of edits, of noise and of risky kinds: laws of every chart, and what each must show."""

import json
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import edit_findings, report_variants, risky_kinds_findings, significance_findings
from analysis.charts import noise, risky_kinds, shapley, swarm
from analysis.charts.look import LOWERS, RAISES, Look
from analysis.edits import text_edits
from analysis.edits_results import EditAttribution
from analysis.prompts import Prompt, Row
from analysis.results import Target
from analysis.risky_kinds_results import METRICS, Effect, KindEffects, RiskyKinds, Shortfall, ordered
from analysis.significance_results import Baseline, NoiseTest, adjusted, by
from tests import test_charts as laws
from tests.test_charts import LOOKS, NASTY, as_read

A = "It costs $20 <b>now</b>, up from 15;\n%{x} &amp; שלום"
B = "It cost $30 <s>now</s>, from 15;  %{y} &lt; 👩‍👩‍👧 זה"


def edits_of(
    a: str = A, b: str = B, values: list[float] | None = None, sampled: bool = False, label: str = NASTY[0]
) -> EditAttribution:
    hunks = text_edits(a, b)
    found = np.array(values if values is not None else [(-1.0) ** k * (k + 1) / 4 for k in range(len(hunks))])
    assert len(found) == len(hunks)
    errors = np.full(len(hunks), 0.1) if sampled else None
    delta = float(found.sum())
    return EditAttribution(
        3, label, a, b, Target("<b>$x$", (1,), ("<b>$x$",), True), hunks, found, errors,
        None if sampled else np.zeros((len(hunks), len(hunks))), 2 * found, delta - found / 2, delta, 1e-6, 99, False,
    )  # fmt: skip


def ranked(
    index: int, effect: float, others: list[float], delta: float | None = -0.5, text: str = "text", label: str = "label"
) -> NoiseTest:
    row = Row(index, label, "paraphrase", Prompt(text), None, False, None, None)
    found = tuple(
        Baseline(NASTY[k % len(NASTY)], ("casing", "<b>"), 0.2, other, -other) for k, other in enumerate(others)
    )
    return NoiseTest(row, "jsd", effect, delta, 0.2, found, len(others))


def several_tests() -> tuple[NoiseTest, ...]:
    random = np.random.default_rng(0)
    made = [
        ranked(k + 1, random.random() / 2, (random.random(25) / 2).tolist(), text=text, label=text[:40] or "empty")
        for k, text in enumerate(NASTY)
    ]
    few, own = ranked(20, 0.3, [0.1, 0.2], label="few"), ranked(21, 0.3, [0.1] * 20, None, label="own")
    return adjusted((*made, few, own))


def effect(delta: float, text: str = "text", set_name: str = "<set> $1$", **more: object) -> Effect:
    made = Effect(set_name, text, delta, abs(delta) * 3, abs(delta) > 1, "misalignment", 0.3)
    return replace(made, **more)  # type: ignore[arg-type]


def risky(sets: tuple[str, ...] = ("<set> $1$", "other")) -> RiskyKinds:
    casing = [effect(d, text, alignment="modification") for d, text in zip((0.1, -0.2, 0.4), NASTY, strict=False)]
    kinds = (
        KindEffects("casing", "casing", "modification", tuple(casing)),
        KindEffects("typo", "typo", "modification", (effect(-3.0, place=0.8), effect(2.0, set_name="other"))),
        KindEffects("negation", "negative control", "misalignment", (effect(-5.0), effect(-6.0))),
        KindEffects(
            "numerals", "numerals", "modification", (), (Shortfall("<set> $1$", 0, 3, "the text has no number"),)
        ),
    )
    return RiskyKinds(ordered(kinds), sets, 3, 0)


def every_chart(look: Look) -> Iterator[tuple[str, go.Figure]]:
    yield "edits", shapley.edits(edits_of(), look)
    yield "edits, sampled", shapley.edits(edits_of(sampled=True), look)
    yield "one edit", shapley.edits(edits_of("a b", "a c"), look)
    yield "noise", noise.noise(several_tests(), look, 3)
    yield "noise, delta", noise.noise(by(several_tests(), "delta"), look)
    yield "noise, one", noise.noise(several_tests()[:1], look)
    for metric in METRICS:
        yield f"kinds, {metric}", risky_kinds.risky_kinds(risky(), look, metric)


CHARTS = dict(every_chart(LOOKS[0]))
every = pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS.keys())


@every
def test_charts_keep_the_laws_of_all_charts(chart: go.Figure) -> None:
    laws.test_no_text_of_a_user_is_read_as_markup(chart)
    laws.test_text_is_never_in_a_template(chart)
    laws.test_a_figure_is_plain_json_without_nan(chart)
    laws.test_a_figure_is_described_in_one_sentence(chart)
    laws.test_the_data_is_a_table_of_full_rows(chart)
    laws.test_axes_and_titles_are_named(chart)


@pytest.mark.parametrize("look", LOOKS)
def test_every_look_draws_the_same_data(look: Look) -> None:
    for name, chart in every_chart(look):
        assert laws.data_of(chart) == laws.data_of(CHARTS[name])


@pytest.mark.parametrize("module", [shapley, noise, risky_kinds])
def test_explanations_say_what_is_asked_how_it_is_computed_and_how_it_misleads(module: object) -> None:
    laws.test_explanations_say_what_is_asked_how_it_is_computed_and_how_it_misleads(module)


def test_nothing_to_draw_is_drawn_as_nothing() -> None:
    empty = noise.noise((), LOOKS[0])
    assert laws.describe(empty).endswith("there is no wording.")
    none = replace(risky(), kinds=())
    assert "there is no kind" in laws.describe(risky_kinds.risky_kinds(none, LOOKS[0]))


# --- edits


def test_bars_hang_together_and_add_up_to_the_change() -> None:
    found = edits_of("a b c d e", "a x c y e", [1.5, -4.0])
    bars = shapley.edits(found, LOOKS[0]).data[0]
    assert list(bars.x) == [1.5, -4.0, -2.5]
    assert list(bars.base) == [0.0, 1.5, 0.0]
    assert bars.base[1] + bars.x[1] == bars.x[2]
    assert list(bars.marker.color[:2]) == [RAISES, LOWERS]


def test_edits_are_named_and_nothing_has_a_sign() -> None:
    found = edits_of("It is so very hot", "It was so hot now", [1.0, 2.0, 3.0])
    names = [as_read(shapley.label(hunk)) for hunk in found.hunks]
    assert names[0] == "‘is’ → ‘was’"
    assert names[1].endswith("→ ∅")
    assert names[2].startswith("∅ →")


def test_standard_errors_are_drawn_where_values_are_sampled() -> None:
    drawn = [
        trace for trace in CHARTS["edits, sampled"].data if trace.type == "scatter" and trace.error_x.array is not None
    ]
    assert len(drawn) == 1
    assert set(drawn[0].error_x.array) == {0.1}
    assert not any(trace.type == "scatter" and trace.error_x.array is not None for trace in CHARTS["edits"].data)


def test_a_small_effect_of_an_edit_is_drawn_small() -> None:
    low, high = shapley.edits(edits_of("a b", "a c", [0.02]), LOOKS[0]).layout.xaxis.range
    assert high - low >= 1


def test_the_sentence_names_the_largest_edit_and_the_one_against_it() -> None:
    found = edits_of("It is so very hot", "It was so hot now", [-2.0, 1.0, 0.1])
    sentence = edit_findings.edits(found)
    assert "“is” → “was” lowers" in sentence
    assert "2.0 nats of Δ = −0.90 nats" in sentence
    assert "Leaving out “very” works against it (+1.00)" in sentence
    assert "what it does depends on the other edits" in sentence


def test_sentences_of_one_edit_of_none_that_counts_and_of_sampled_ones() -> None:
    assert edit_findings.edits(edits_of("a b", "a c", [-1.0])).startswith("There is one edit, “b” → “c”")
    assert "None of the two edits" in edit_findings.edits(edits_of("a b c d e", "a x c y e", [0.01, 0.02]))
    close = edit_findings.edits(edits_of("a b c d e", "a x c y e", [1.0, 0.9], sampled=True))
    assert "± 0.10 nats" in close
    assert "cannot be told apart" in close
    assert "cannot be told apart" not in edit_findings.edits(
        edits_of("a b c d e", "a x c y e", [1.0, 0.2], sampled=True)
    )


# --- noise


def test_every_baseline_is_a_point_and_those_that_reach_the_effect_are_filled() -> None:
    test = ranked(1, 0.25, [0.1, 0.2, 0.25, 0.3] * 5)
    points = {trace.name: trace for trace in noise.noise((test,), LOOKS[0]).data if trace.name.startswith("baseline")}
    filled, hollow = points["baseline, at least as large"], points["baseline, smaller"]
    assert sorted(filled.x) == [0.25] * 5 + [0.3] * 5
    assert sorted(hollow.x) == [0.1] * 5 + [0.2] * 5
    assert filled.marker.symbol == "circle"
    assert hollow.marker.symbol == "circle-open"
    assert test.as_large == 10


def test_the_edit_stands_at_its_effect_and_a_click_selects_its_wording() -> None:
    chart = CHARTS["noise"]
    tests = several_tests()
    own = next(trace for trace in chart.data if trace.name == "the wording")
    assert list(own.x) == [test.effect for test in tests]
    assert [data[0] for data in own.customdata] == [test.row.index for test in tests]
    baselines = [trace for trace in chart.data if trace.name.startswith("baseline")]
    assert sum(len(trace.x) for trace in baselines) == sum(len(test.baselines) for test in tests)
    assert {data[0] for trace in baselines for data in trace.customdata} == {test.row.index for test in tests}


def test_hovers_of_baselines_have_their_rules_and_texts() -> None:
    chart = noise.noise((ranked(1, 0.0, [0.1] * len(NASTY)),), LOOKS[0])
    hovers = [as_read(hover) for trace in chart.data if trace.name.startswith("baseline") for hover in trace.hovertext]
    assert all(hover.startswith("casing, then <b>JSD") or "casing, then <b>" in hover for hover in hovers)
    assert any(hover.endswith("zero⟨U+200B⟩width") for hover in hovers)


def test_rows_without_a_verdict_say_so() -> None:
    assert "no verdict" in " ".join(CHARTS["noise"].layout.yaxis2.ticktext)
    assert "own target" in " ".join(CHARTS["noise, delta"].layout.yaxis2.ticktext)


@given(st.lists(st.floats(0, 1), max_size=60), st.sampled_from([20.0, 28.0, 84.0]))
def test_points_stay_in_their_row(values: list[float], row: float) -> None:
    found = swarm.offsets(values, 1.0, 7, row)
    assert len(found) == len(values)
    assert all(abs(offset) <= swarm.ROOM + 1e-9 for offset in found)


def test_points_that_would_cover_one_another_stand_apart() -> None:
    found = swarm.offsets([0.5] * 5, 1.0, 7, 84)
    assert len(set(found)) == 5
    assert min(abs(a - b) for a in found for b in found if a != b) * 84 >= 6
    assert swarm.offsets([0.1, 0.5, 0.9], 1.0, 7, 84) == [0.0, 0.0, 0.0]


def test_the_sentence_gives_rank_and_p() -> None:
    assert "more than any of 20 rewordings" in significance_findings.noise((ranked(1, 1.0, [0.1] * 20),))
    some = significance_findings.noise((ranked(1, 0.25, [0.1] * 10 + [0.3] * 10),))
    assert some.startswith("10 of 20 rewordings")
    assert "may well be noise (p = 0.52)" in some


def test_the_sentence_says_how_many_baselines_are_missing() -> None:
    sentence = significance_findings.noise((ranked(1, 1.0, [0.1] * 7, label="brief"),))
    assert sentence.startswith(
        "No verdict on “brief”: seven baselines of the 19 that it takes, twelve more are needed."
    )


def test_of_several_the_sentence_counts_what_stands_out() -> None:
    strong = [ranked(k, 0.6, [0.1] * 99, label=f"wording {k}") for k in (1, 2)]
    weak = ranked(3, 0.0, [0.1] * 99)
    sentence = significance_findings.noise(adjusted((*strong, weak)))
    assert sentence.startswith("Two of three wordings have an effect that is more than noise")
    assert "“wording 1”, “wording 2”" in sentence
    none = significance_findings.noise(adjusted(tuple(ranked(k, 0.0, [0.1] * 19) for k in range(1, 5))))
    assert none.startswith("None of four wordings has")
    assert "that takes 79 baselines" in none
    own = significance_findings.noise(by((ranked(1, 1.0, [0.1] * 20, None), ranked(2, 1.0, [0.1] * 20, None)), "delta"))
    assert "targets of their own" in own


# --- risky kinds


def test_every_rewording_is_a_point_in_the_row_of_its_kind_and_the_median_is_marked() -> None:
    found = risky()
    chart = risky_kinds.risky_kinds(found, LOOKS[0])
    shown = [kind for kind in found.kinds if kind.effects]
    points = [
        (data[0], x, y)
        for trace in chart.data
        if trace.name in ("tokens changed in place", "later positions shifted")
        for data, x, y in zip(trace.customdata, trace.x, trace.y, strict=True)
    ]
    assert sorted((rule, x) for rule, x, _ in points) == sorted(
        (kind.rule, abs(effect.delta)) for kind in shown for effect in kind.effects
    )
    assert all(shown[round(y)].rule == rule for rule, _, y in points)
    median = next(trace for trace in chart.data if trace.name == "median")
    assert [x for x in median.x if x is not None][::2] == [kind.summary("delta") for kind in shown]


def test_kinds_are_ordered_by_their_median_with_controls_apart() -> None:
    kinds = risky().kinds
    assert [kind.rule for kind in kinds] == ["typo", "casing", "negation", "numerals"]
    assert [kind.summary("delta") for kind in kinds] == [2.5, 0.2, 5.5, None]
    assert [kind.summary("flip") for kind in kinds] == [1, 0, 1, None]
    labels = CHARTS["kinds, delta"].layout.yaxis.ticktext
    assert [as_read(label) for label in labels] == ["typo", "casing", "negation"]


def test_modification_and_misalignment_are_summarised_without_controls() -> None:
    groups = {group.name: group for group in risky().groups}
    assert len(groups["modification"].effects) == 3
    assert groups["modification"].summary("delta") == pytest.approx(0.2)
    assert groups["misalignment"].summary("delta") == 2.5
    assert len(groups["modification, early"].effects) == 3
    assert groups["modification, late"].summary("delta") is None


def test_the_rate_of_flips_is_a_bar() -> None:
    bars = CHARTS["kinds, flip"].data[0]
    assert list(bars.x) == [1, 0, 1]
    assert [number.strip() for number in CHARTS["kinds, flip"].layout.yaxis2.ticktext] == ["2 of 2", "0 of 3", "2 of 2"]


def test_the_sentence_says_that_one_prompt_cannot_rank_kinds() -> None:
    one, two = risky_kinds_findings.kinds(risky(("only",))), risky_kinds_findings.kinds(risky())
    assert "One prompt cannot rank kinds" in one
    assert "cannot rank" not in two
    assert "Over five rewordings of two prompts" in two or "Over 5 rewordings of two prompts" in two
    assert "A kind has two to three rewordings here" in two
    assert risky_kinds_findings.kinds(replace(risky(), kinds=())).startswith("No rewording that keeps the meaning")


def test_the_sentence_leaves_controls_out() -> None:
    for metric in METRICS:
        assert "negation" not in risky_kinds_findings.kinds(risky(), metric)


# --- data


def plain(value: object) -> bool:
    json.dumps(value, allow_nan=False)
    return True


def test_results_are_plain_json_and_what_is_not_there_is_null() -> None:
    exact, drawn = report_variants.edits_json(edits_of()), report_variants.edits_json(edits_of(sampled=True))
    assert plain(exact)
    assert plain(drawn)
    assert drawn["interactions"] is None
    assert exact["hunks"][0]["standard_error"] is None  # type: ignore[index]
    tests = [report_variants.noise_json(test) for test in several_tests()]
    assert plain(tests)
    assert tests[-2]["p"] is None
    assert tests[-2]["baselines_needed"] == 17
    kinds = report_variants.risky_kinds_json(risky())
    assert plain(kinds)
    assert kinds["kinds"][-1]["median_abs_delta"] is None  # type: ignore[index]
    broken = replace(several_tests()[0], jsd=math.nan)
    assert report_variants.noise_json(broken)["jsd"] is None


def test_tables_have_full_rows() -> None:
    for table in (
        report_variants.edits_table([edits_of(), edits_of(sampled=True)]),
        report_variants.noise_table(several_tests()),
        report_variants.risky_kinds_table(risky()),
    ):
        assert len({len(column) for column in table.values()}) == 1
        assert all(table.values())
