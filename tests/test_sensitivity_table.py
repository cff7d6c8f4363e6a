"""Every metric of one set: values by hand, what is left out, and what is said where there is none."""

import math
from dataclasses import replace

import numpy as np
import pytest

from analysis.answer_groups import BLANK, ENDS_AT_ONCE, groups
from analysis.divergence import jsd
from analysis.matrices import delta_matrix, divergences, jsd_matrix, response_matrix
from analysis.prompts import PromptSet, Variant
from analysis.results import Answer, CandidateScores
from analysis.sensitivity import ResponseScores, compared, sensitivity
from analysis.sensitivity_metric import Metric
from analysis.sensitivity_table import metrics
from tests.test_sensitivity import analysis_of, answer, paraphrases


def by_key(found: tuple[Metric, ...]) -> dict[str, Metric]:
    assert len({metric.key for metric in found}) == len(found)
    return {metric.key: metric for metric in found}


def said(*texts: str, match="first line", correct="contains", **settings) -> dict[str, Metric]:
    """The metrics of a set whose wordings are answered with these texts; every p(target) is 0.5."""
    prompts = paraphrases(*(f"wording {k}" for k in range(len(texts))), **settings)
    analysis = analysis_of(prompts, *[0.5] * len(texts))
    return by_key(metrics(analysis, [answer(text) for text in texts], None, match, correct=correct))


def responses(log_probs: np.ndarray, length: int) -> ResponseScores:
    n = len(log_probs)
    return ResponseScores(tuple(range(n)), (length,) * n, log_probs)


def test_metrics_by_hand():
    given = analysis_of(paraphrases("a", "b", "c", expected="yes"), 0.2, 0.6, 1 - 1e-12)
    scored = responses(np.tile([[-1.0], [-4.0], [-9.0]], (1, 3)), 5)
    found = by_key(metrics(given, [answer(text) for text in ("yes", "no", "no")], scored))
    values = {key: metric.value for key, metric in found.items()}
    assert round(values["posix"], 4) == 1.0667
    assert values["cps"] == pytest.approx(0.6)
    assert values["spread"] == pytest.approx(math.log(5))
    assert values["spread_probability"] == pytest.approx(0.8)
    assert (values["worst"], values["best"]) == pytest.approx((math.log(0.2), 0), abs=1e-9)
    assert values["pss_probability"] == pytest.approx((0.4 + 0.8 + 0.4) / 3)
    assert values["flip_rate"] == 1
    assert values["same_answer"] is False
    assert values["sensitivity"] == pytest.approx((math.log(3) - 2 / 3 * math.log(2)) / math.log(3))
    assert values["right"] == pytest.approx(1 / 3)
    assert (values["all_right"], values["any_right"]) == (False, True)
    assert values["pss"] == pytest.approx(2 / 3)
    assert values["pss_share"] == 1


def test_values_are_those_of_the_sets_figures():
    prompts = paraphrases("a", "b", "c", "d", "e", "f", expected="x")
    given = analysis_of(prompts, 0.1, 0.3, 0.35, 0.6, 0.7, 0.95)
    answers = [answer(text) for text in ("x", "y", "x", "z", "x", "y")]
    figures = sensitivity(given, answers)
    found = by_key(metrics(given, answers))
    for key in (
        "flip_rate",
        "same_answer",
        "right",
        "all_right",
        "any_right",
        "spread",
        "worst",
        "mean",
        "best",
        "cps",
    ):
        assert found[key].value == getattr(figures, key)


def test_right_and_wrong_by_hand():
    halves = said(*["yes"] * 6, *["no"] * 6, expected="yes")
    assert halves["pss"].value == pytest.approx(36 / 66)
    assert halves["pss_share"].value == pytest.approx(1)
    assert halves["right"].interval == pytest.approx((0.2538, 0.7462), abs=1e-4)


def test_stable_and_wrong_is_visible():
    found = said("Rome", "Rome", "Rome", expected="Paris")
    assert (found["same_answer"].value, found["sensitivity"].value, found["pss"].value) == (True, 0, 0)
    assert (found["all_right"].value, found["any_right"].value) == (False, False)


def test_declared_candidates_make_one_class_more_than_there_are():
    found = said("A", "A", "B", "neither", candidates=("A", "B"))
    shares = np.array([0.5, 0.25, 0.25])
    assert found["sensitivity"].value == pytest.approx(-(shares @ np.log(shares)) / math.log(3))
    assert "C = 3" in found["sensitivity"].definition
    assert said("A or B", "A and B", candidates=("A", "B"), match="contains", expected="A")["sensitivity"].value == 0


def test_free_text_has_as_many_classes_as_wordings():
    found = said("a", "b", "c", "d", "e", "f")["sensitivity"]
    assert found.value == pytest.approx(1)
    assert found.interval is None
    assert "C = N = 6" in found.definition


def test_the_likeliest_candidate_needs_no_answer():
    given = analysis_of(paraphrases("a", "b", "c", "d"), 0.5, 0.5, 0.5, 0.5)
    scores = [
        CandidateScores((" A", " B"), ((float(a),), (float(b),))) for a, b in ((-1, -2), (-1, -3), (-2, -1), (-2, -1))
    ]
    other = CandidateScores((" C", " D"), ((-1.0,), (-2.0,)))
    assert by_key(metrics(given, candidates=scores))["candidate_sensitivity"].value == pytest.approx(1)
    found = by_key(metrics(given, candidates=[*scores[:3], other]))["candidate_sensitivity"]
    assert found.n == 3
    assert "1 with candidates of their own left out" in found.note
    assert "candidate_sensitivity" not in by_key(metrics(given))


def test_what_there_is_no_number_for_says_why():
    unanswered = by_key(metrics(analysis_of(paraphrases("a", "b"), 0.5, 0.4)))
    for key in ("flip_rate", "same_answer", "sensitivity", "right", "pss", "posix", "needed_right"):
        assert unanswered[key].value is None
        assert unanswered[key].interval is None
        assert "answers are not there" in unanswered[key].note
    unexpected = said("x", "y")
    assert "no wording says which answer is expected" in unexpected["right"].note
    assert unexpected["right"].value is None
    alone = by_key(metrics(analysis_of(paraphrases("a", expected="x"), 0.5), [answer("x")]))
    for key in ("spread", "worst", "cps", "pss", "jsd", "jsd_many", "flip_rate", "sensitivity", "needed"):
        assert alone[key].value is None
        assert "two wordings" in alone[key].note
    assert alone["all_right"].value is True


def test_what_could_not_be_computed_is_no_number():
    found = by_key(metrics(analysis_of(paraphrases("a", "b", "c"), 0.5, math.nan, 0.5)))
    for key in ("spread", "mean", "cps", "jsd", "jsd_many", "pss_probability", "needed"):
        assert found[key].value is None


def test_controls_are_left_out_and_it_is_said():
    prompts = PromptSet(
        "a", (Variant("b"), Variant("c", kind="negative control"), Variant("d", target="z")), expected="x"
    )
    given = analysis_of(prompts, 0.5, 0.4, 0.001, 0.001)
    found = by_key(metrics(given, [answer(text) for text in ("x", "x", "y", "x")]))
    assert found["spread"].value == pytest.approx(math.log(0.5 / 0.4))
    assert found["spread"].n == 2
    assert "left out: 1 control, 1 on their own target" in found["spread"].note
    assert (found["same_answer"].value, found["same_answer"].n) == (True, 3)
    assert "left out: 1 control" in found["right"].note


def test_every_metric_says_how_it_is_read():
    for metric in said(*"xxyyzz", expected="x").values():
        assert metric.name
        assert metric.definition.endswith(".")
        assert metric.lowest
        assert metric.highest
        assert metric.interval is None or metric.interval[0] <= metric.value <= metric.interval[1]


def test_largest_and_smallest_have_no_interval_and_means_have_one():
    prompts = paraphrases("a", "b", "c", "d", "e", "f", expected="x")
    given = analysis_of(prompts, 0.1, 0.3, 0.35, 0.6, 0.7, 0.95)
    found = by_key(metrics(given, [answer(text) for text in "xyxyxy"]))
    assert {key for key, metric in found.items() if metric.interval is not None} == {
        "flip_rate", "right", "pss", "pss_share", "mean", "mean_probability", "pss_probability", "jsd",
    }  # fmt: skip
    assert "never goes beyond" in found["cps"].note
    assert "pairs of one with itself left out" in found["pss"].note


def test_divergences_of_the_next_token_by_hand():
    found = by_key(metrics(analysis_of(paraphrases("a", "b"), 1 - 1e-12, 1e-12)))
    assert found["jsd"].value == pytest.approx(math.log(2), abs=1e-9)
    assert found["jsd_many"].value == pytest.approx(math.log(2), abs=1e-9)
    same = by_key(metrics(analysis_of(paraphrases("a", "b", "c"), 0.3, 0.3, 0.3)))
    assert same["jsd"].value == same["jsd_many"].value == 0


# --- matrices


def test_the_divergence_of_every_two_is_that_of_two():
    random = np.random.default_rng(0)
    logits = random.normal(size=(5, 300)) * 20
    logs = (logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))).astype(np.float32)
    logs = np.vstack([logs, logs[:1]])
    found = divergences(list(logs))
    np.testing.assert_array_equal(found, found.T)
    assert found[0, 5] == 0
    for a in range(6):
        for b in range(6):
            assert found[a, b] == pytest.approx(jsd(logs[a], logs[b]), abs=1e-12)


def test_divergences_are_finite_where_probabilities_underflow():
    assert divergences([np.array([0.0, -1000.0]), np.array([-np.inf, 0.0])])[0, 1] == pytest.approx(math.log(2))


def test_deltas_point_from_the_row_to_the_column():
    given = analysis_of(PromptSet("a", (Variant("b"), Variant("c", target="z"), Variant("d"))), 0.5, 0.25, 0.9, None)
    found = delta_matrix(given)
    assert found.places == (0, 1)
    np.testing.assert_allclose(found.values, [[0, -math.log(2)], [math.log(2), 0]], atol=1e-12)
    assert jsd_matrix(given).places == (0, 1, 2)


def test_a_response_matrix_is_that_of_the_scores():
    scored = responses(np.array([[-1.0, -5.0], [-2.0, -3.0]]), 2)
    found = response_matrix(scored)
    assert (found.kind, found.places, found.lengths) == ("response", (0, 1), (2, 2))
    np.testing.assert_array_equal(found.values, scored.log_probs)


# --- groups of answers


def grouped(*texts: str, match="first line", correct="contains", **settings):
    prompts = paraphrases(*(f"wording {k}" for k in range(len(texts))), **settings)
    return groups(analysis_of(prompts, *[0.5] * len(texts)), [answer(text) for text in texts], match, correct)


def test_answers_that_count_as_the_same_are_one_group_the_largest_first():
    found = grouped("Lyon", " Paris.\nMore", "Paris", "Rome", "PARIS", expected="Paris")
    assert [(group.name, group.places) for group in found] == [("Paris.", (1, 2, 4)), ("Lyon", (0,)), ("Rome", (3,))]
    assert [group.reference for group in found] == [False, True, False]
    assert [group.all_right for group in found] == [True, False, False]
    assert found[0].text == " Paris.\nMore"


def test_every_compared_answer_is_in_one_group():
    prompts = PromptSet("a", (Variant("b"), Variant("c", kind="control"), Variant("a"), Variant("e")))
    given = analysis_of(prompts, 0.5, 0.5, 0.5, 0.5, None)
    found = groups(given, [answer("x"), answer("y"), answer("z"), answer("x"), None])
    assert sorted(place for group in found for place in group.places) == [0, 1]
    assert found[0].all_right is None


def test_answers_that_end_at_once_are_named_so():
    ended = Answer("", (2,), ("<|im_end|>",), (-0.5,), True)
    given = analysis_of(paraphrases("a", "b", "c"), 0.5, 0.5, 0.5)
    for match in ("first line", "first token", "whole text"):
        assert [group.name for group in groups(given, [ended, ended, answer("x")], match)] == [ENDS_AT_ONCE, "x"]
    assert groups(given, [replace(ended, text="\n ", finished=False), answer("x"), answer("y")])[0].name == BLANK


def test_by_first_token_and_by_whole_text():
    assert [len(group.places) for group in grouped("a b", "a c", match="first token")] == [2]
    assert [len(group.places) for group in grouped("a\nb", "a\nc", match="whole text")] == [1, 1]


def test_by_contains_there_are_those_that_do_and_those_that_do_not():
    found = grouped("Rome", "It is Paris", "Lyon", "Paris", "Paris!", match="contains", expected="Paris")
    assert [(group.name, len(group.places)) for group in found] == [("Paris", 3), ('without "Paris"', 2)]


def test_a_group_may_hold_right_and_wrong_answers():
    found = grouped("The Rome", "The Paris", match="first token", expected="Paris")
    assert [(group.right, group.judged, group.all_right) for group in found] == [(1, 2, None)]


def test_without_answers_there_are_no_groups():
    assert groups(analysis_of(paraphrases("a", "b"), 0.5, 0.5), None) == ()


def test_divergences_computed_before_are_taken():
    given = analysis_of(paraphrases("a", "b", "c"), 0.5, 0.4, 0.3)
    whole = jsd_matrix(given)
    assert whole.places == compared(given).places
    assert metrics(given, jsd=whole.values) == metrics(given)
