"""Figures of a prompt set: POSIX, spread, flips, right and wrong, and what is left out."""

import json
import math
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.answers_match import CHOICES
from analysis.explore import Caches, analyse, answers_of
from analysis.model import assemble
from analysis.prompts import PromptSet, Variant
from analysis.responses import response_log_probs, response_scores
from analysis.results import Analysis, Answer, ModelCard, PromptResult, Target, Tokens, Trace
from analysis.scoring import score
from analysis.sensitivity import LeftOut, compared, cps, judgements, posix, sensitivity
from tests import tiny

REFERENCE = Path(__file__).parents[2] / "shared" / "reference"
CARD = ModelCard("tiny", "", "Tiny", 1, 1, 1, 2, 9, "float32", "cpu", 1, 1e-6, False)


def trace(text: str, probability: float, target: int = 0) -> Trace:
    logs = np.log(np.array([probability, 1 - probability]))
    tokens = Tokens(text, tuple(text.encode()), tuple(text), ((0, 1),) * len(text), ("text",) * len(text), ())
    state = np.zeros((1, 2, 3))
    return Trace(tokens, Target("y", (target,), ("y",), True), logs[:1], logs, state, None, None, None)


def analysis_of(prompt_set: PromptSet, *probabilities: float | None) -> Analysis:
    """An analysis by hand: p(target) after each row, None for a row that failed."""
    results = []
    for row, probability in zip(prompt_set.rows(), probabilities, strict=True):
        found = None if probability is None else trace(row.prompt.text, probability, int(row.own_target))
        results.append(PromptResult(row, found, None, None))
    return Analysis(prompt_set, CARD, Target("y", (0,), ("y",), True), tuple(results))


def answer(text: str) -> Answer:
    pieces = tuple(text.split(" ")) or (text,)
    return Answer(text, tuple(range(len(pieces))), pieces, (-1.0,) * len(pieces), False)


def answered(prompt_set: PromptSet, *texts: str, match="first line"):
    return sensitivity(analysis_of(prompt_set, *[0.5] * len(texts)), [answer(text) for text in texts], match=match)


def paraphrases(*texts: str, **settings) -> PromptSet:
    return PromptSet(texts[0], tuple(Variant(text) for text in texts[1:]), **settings)


@pytest.mark.parametrize("case", json.loads((REFERENCE / "posix.json").read_text()), ids=lambda case: case["name"])
def test_posix_is_the_papers_formula(case):
    found = posix(np.array(case["log_prob"]), [len(ids) for ids in case["response_ids"]])
    assert found == pytest.approx(case["posix_paper_formula"], abs=1e-9)


def test_posix_of_two_prompts_worked_out_by_hand():
    matrix = np.array([[-2.0, -9.0], [-6.0, -3.0]])
    assert posix(matrix, [2, 3]) == pytest.approx((abs(-9 - -3) / 3 + abs(-6 - -2) / 2) / 2)


def test_posix_needs_two_prompts():
    assert posix(np.array([[-1.0]]), [1]) is None
    assert posix(np.zeros((0, 0)), []) is None


@given(st.integers(2, 6))
def test_posix_is_0_where_no_prompt_matters(n):
    assert posix(np.tile(-np.arange(1.0, n + 1), (n, 1)), list(range(1, n + 1))) == 0


def test_figures_of_the_targets_probability():
    found = sensitivity(analysis_of(paraphrases("a", "b", "c"), 0.5, 0.8, 0.2))
    assert (found.prompts, found.left_out) == (3, LeftOut())
    assert (found.worst, found.best) == pytest.approx((math.log(0.2), math.log(0.8)))
    assert found.mean == pytest.approx(math.log(0.5 * 0.8 * 0.2) / 3)
    assert found.spread == pytest.approx(math.log(4))
    assert (found.worst_probability, found.mean_probability, found.best_probability) == pytest.approx((0.2, 0.5, 0.8))
    assert found.cps == pytest.approx((1 - (0.8 - 0.5)) * 0.8)


def test_the_combined_performance_score_is_the_score_where_prompts_agree():
    assert cps(np.array([0.3, 0.3])) == pytest.approx(0.3)


def test_one_prompt_has_no_figures():
    found = asdict(answered(paraphrases("a", expected="x"), "x"))
    assert {key for key, value in found.items() if value is None} == {
        "worst", "mean", "best", "spread", "worst_probability", "mean_probability", "best_probability",
        "cps", "posix", "flip_rate", "same_answer",
    }  # fmt: skip
    assert found["all_right"] is True


def test_equal_prompts_have_a_spread_of_0_not_an_unknown_one():
    prompts = paraphrases("a", "a", "a")
    found = sensitivity(analysis_of(prompts, 0.5, 0.5, 0.5), [answer("x")] * 3)
    assert (found.prompts, found.spread, found.flip_rate, found.same_answer) == (3, 0, 0, True)
    assert found.cps == pytest.approx(0.5)


def test_controls_other_targets_failures_and_duplicates_are_left_out_and_counted():
    variants = (
        Variant("b"),
        Variant("c", kind="negative control"),
        Variant("d", kind="control"),
        Variant("e", target="other"),
        Variant("f"),
        Variant("a"),
    )
    found = compared(analysis_of(PromptSet("a", variants), 0.5, 0.5, 0.1, 0.1, 0.1, None, 0.5))
    assert found.places == (0, 1)
    assert found.left_out == LeftOut(failed=1, controls=2, own_target=1, duplicates=1)
    assert found.left_out.total == 5


def test_a_paraphrase_that_repeats_a_control_counts():
    variants = (Variant("b", kind="control"), Variant("b"))
    assert compared(analysis_of(PromptSet("a", variants), 0.5, 0.4, 0.4)).places == (0, 2)


def test_a_target_of_its_own_that_has_the_same_tokens_is_common():
    given = analysis_of(PromptSet("a", (Variant("b", target="y"),)), 0.5, 0.5)
    same = Analysis(
        given.prompt_set,
        CARD,
        given.target,
        (given.prompts[0], PromptResult(given.prompts[1].row, trace("b", 0.4), None, None)),
    )
    assert compared(same).places == (0, 1)


def test_flips_are_counted_among_the_variants():
    found = answered(paraphrases("a", "b", "c", "d"), "Paris", " paris\nmore", "Rome", "Lyon")
    assert found.flip_rate == pytest.approx(2 / 3)
    assert (found.same_answer, found.distinct_answers, found.answers) == (False, 3, 4)


def test_stable_and_wrong_is_visible():
    found = answered(paraphrases("a", "b", expected="Paris"), "Rome", "Rome")
    assert (found.same_answer, found.flip_rate) == (True, 0)
    assert (found.right, found.all_right, found.any_right) == (0, False, False)


def test_right_here_and_wrong_there():
    found = answered(paraphrases("a", "b", "c", expected="Paris"), "It is Paris.", "Rome", "PARIS")
    assert (found.right, found.all_right, found.any_right) == (pytest.approx(2 / 3), False, True)


def test_without_an_expected_answer_nothing_is_judged():
    found = answered(paraphrases("a", "b"), "x", "y")
    assert (found.judged, found.right, found.all_right, found.any_right) == (0, None, None, None)
    assert found.flip_rate == 1


@pytest.mark.parametrize(
    ("match", "rate"), [("first line", 0.5), ("first token", 0), ("whole text", 1), ("contains", 0.5)]
)
def test_answers_are_compared_by_the_chosen_match(match, rate):
    prompts = paraphrases("a", "b", "c", expected="here")
    assert answered(prompts, "Yes here\nx", "yes here\ny", "Yes there\nz", match=match).flip_rate == rate


@pytest.mark.parametrize(
    ("choice", "right"),
    [
        ("exact", [True, False, False, False]),
        ("case-folded", [True, True, False, False]),
        ("first token", [True, True, True, False]),
        ("contains", [True, True, True, True]),
    ],
)
def test_correctness_is_judged_by_the_chosen_match(choice, right):
    prompts = paraphrases("a", "b", "c", "d", expected="Paris")
    texts = ("Paris", "paris \nRome", "Paris is it", "It is Paris")
    given = analysis_of(prompts, *[0.5] * 4), [answer(text) for text in texts]
    assert list(judgements(*given, CHOICES[choice]).values()) == right
    found = sensitivity(*given, correct=CHOICES[choice])
    assert (found.correct, found.right) == (CHOICES[choice], sum(right) / 4)
    assert found.flip_rate == sensitivity(*given).flip_rate


def test_a_label_inside_another_is_not_found():
    prompts = paraphrases("a", "b", expected="true")
    assert answered(prompts, "mostly-true", "untrue").any_right is False
    assert answered(prompts, "It is true.", "True").all_right is True


def test_reordered_options_are_judged_on_their_own_and_not_counted_as_flips():
    prompts = PromptSet("a", (Variant("b", expected="B", kind="option order"), Variant("c")), expected="A")
    found = answered(prompts, "A", "B", "A")
    assert (found.all_right, found.flip_rate, found.answers) == (True, 0, 2)
    assert found.answers_left_out == LeftOut(own_expected=1)
    assert answered(prompts, "A", "A", "A", match="contains").flip_rate == 0.5


def test_rows_without_an_answer_do_not_count():
    given = analysis_of(paraphrases("a", "b", "c"), 0.5, 0.5, None)
    found = sensitivity(given, [answer("x"), None, None])
    assert (found.answers, found.flip_rate, found.same_answer) == (1, None, None)
    assert found.answers_left_out == LeftOut(failed=2)


@pytest.fixture(scope="module")
def lm():
    return assemble(tiny.network("llama"), tiny.tokenizer(), "tiny")


def test_every_response_is_scored_after_every_prompt(lm):
    prompts, responses = [(50, 51, 52), (50, 51), (9, 8, 7, 6)], [(30, 31), (32,), (30, 31)]
    found = response_log_probs(lm, prompts, responses)
    for i, prompt in enumerate(prompts):
        for j, response in enumerate(responses):
            assert found[i, j] == pytest.approx(score(lm, [(prompt, response)], fast=False)[0].sum(), abs=1e-4)


def test_posix_of_an_analysis_takes_the_models_own_answers(lm):
    prompts = PromptSet(
        "The capital of France is",
        (
            Variant("Question: is the sky blue?"),
            Variant("one two", kind="control"),
            Variant("The capital of France is"),
        ),
        target=" Paris",
        response_tokens=4,
    )
    caches = Caches()
    analysis = analyse(lm, prompts, caches, attributions=False)
    answers = answers_of(lm, analysis, caches)
    found = response_scores(lm, analysis, answers, caches.scores)
    assert found.places == (0, 1)
    assert found.lengths == tuple(len(answers[place].ids) for place in found.places)
    for j, place in enumerate(found.places):  # the diagonal is what generation itself said
        assert found.log_probs[j, j] == pytest.approx(sum(answers[place].log_probs), abs=1e-4)
    assert sensitivity(analysis, answers, posix=found.posix).posix == found.posix > 0


def test_posix_of_equal_prompts_is_0_and_of_one_prompt_unknown(lm):
    for variants, expected in (((Variant("one two"), Variant("one two")), 0.0), ((), None)):
        caches = Caches()
        analysis = analyse(lm, PromptSet("one two", variants, target=" three", response_tokens=3), caches)
        found = response_scores(lm, analysis, answers_of(lm, analysis, caches), caches.scores)
        assert (found and found.posix) == expected
