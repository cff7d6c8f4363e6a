"""Under a true null the rank test is right; what it compares with is like the edit in size."""

import math

import numpy as np
import pytest
from scipy.stats import chisquare, false_discovery_control

from analysis import explore
from analysis.divergence import jsd
from analysis.encoding import encode
from analysis.model import LanguageModel
from analysis.prompts import Prompt, PromptSet, Row, Variant
from analysis.results import Analysis
from analysis.significance import edit_share, noise_tests, paired_flips, paired_test, seam
from analysis.significance_results import (
    FEWEST,
    WINDOW,
    Baseline,
    NoiseTest,
    SignificanceError,
    adjusted,
    by,
    rank_p,
)
from tests import plain

REFERENCE = "Please answer the question in one word, because she'd like to know two things about the capital of Italy"
VARIANT = "Please answer one question in a word, because she'd like to know two things about the city in Italy"


def analysed(
    *variants: str | Variant, reference: str = REFERENCE, mode: str = "completion", **settings: str
) -> Analysis:
    made = tuple(Variant(one) if isinstance(one, str) else one for one in variants)
    prompt_set = PromptSet(reference, made, target=" Rome", mode=mode, **settings)  # type: ignore[arg-type]
    return explore.analyse(plain.loaded(), prompt_set, explore.Caches(), attributions=False)


def ranked(lm: LanguageModel, analysis: Analysis, count: int = 20, seed: int = 0) -> tuple[NoiseTest, ...]:
    return noise_tests(lm, analysis, analysis.prompts[1:], count=count, seed=seed)


def row(label: str = "rewording 1") -> Row:
    return Row(1, label, "paraphrase", Prompt("text"), None, False, None, None)


def a_test(effect: float, others: list[float], delta: float | None = -1.0) -> NoiseTest:
    found = tuple(Baseline(f"text {k}", ("rule",), 0.2, other, -other) for k, other in enumerate(others))
    return NoiseTest(row(), "jsd", effect, delta, 0.2, found, len(others))


# --- the test


@pytest.mark.parametrize("draw", ["normal", "exponential"])
def test_under_the_null_every_rank_is_equally_likely(draw: str) -> None:
    random = np.random.default_rng(1)
    effects = getattr(random, draw)(size=(4_000, 20))
    ranks = [round(20 * (rank_p(row[0], row[1:].tolist()) or 0)) for row in effects]
    assert chisquare(np.bincount(ranks, minlength=21)[1:]).pvalue > 0.001


@pytest.mark.parametrize("values", [2, 4, 1])
def test_with_ties_p_is_never_too_small(values: int) -> None:
    """P(p ≤ k/(B+1)) ≤ k/(B+1), to three binomial standard errors."""
    random = np.random.default_rng(2)
    draws, size = 4_000, 25
    effects = random.integers(0, values, size=(draws, size))
    p = np.array([rank_p(row[0], row[1:].tolist()) for row in effects])
    for k in range(1, size + 1):
        level = k / size
        assert (p <= level + 1e-12).mean() <= level + 3 * math.sqrt(level * (1 - level) / draws)


def test_p_by_hand() -> None:
    assert rank_p(5.0, [float(k) for k in range(19)]) == 15 / 20  # 5, 6, …, 18 are as large
    assert rank_p(100.0, [0.0] * 19) == 1 / 20
    assert rank_p(0.0, [0.0] * 19) == 1


def test_there_is_no_verdict_below_19_baselines() -> None:
    few = a_test(1.0, [0.5] * 12)
    assert few.p is None
    assert few.needed == 7
    enough = a_test(1.0, [0.5] * FEWEST)
    assert enough.p == 1 / 20
    assert enough.needed == 0


def test_several_tests_are_adjusted_after_benjamini_and_hochberg() -> None:
    tests = (a_test(9, [float(k) for k in range(20)]), a_test(1, [0.0] * 3), a_test(30, [float(k) for k in range(20)]))
    found = adjusted(tests)
    known = [test.p for test in found if test.p is not None]
    assert [test.adjusted for test in (found[0], found[2])] == pytest.approx(false_discovery_control(known).tolist())
    assert found[1].adjusted is None
    # By hand, with the smaller of two p: min(2 · p₁, p₂).
    assert found[2].adjusted == pytest.approx(min(2 * known[1], known[0]))


def test_the_other_effect_needs_no_other_run() -> None:
    test = by((a_test(0.6, [0.5] * 20, delta=-0.4),), "delta")[0]
    assert test.effect == 0.4
    assert test.effects == (0.5,) * 20
    assert test.p == 1
    assert test.adjusted == 1
    own = by((a_test(0.6, [0.5] * 20, delta=None),), "delta")[0]
    assert own.p is None
    assert own.effect is None


# --- its baselines, on a model


@pytest.mark.parametrize("mode", ["completion", "chat"])
def test_baselines_are_like_the_edit_in_size_and_like_no_other_wording(mode: str) -> None:
    lm, analysis = plain.loaded(), analysed(VARIANT, mode=mode)
    (test,) = ranked(lm, analysis)
    prompts = [Prompt(one.text, mode) for one in test.baselines]  # type: ignore[arg-type]
    read = [encode(lm.encoder, prompt) for prompt in prompts]
    known = [result.trace.tokens for result in analysis.prompts if result.trace]
    assert len(test.baselines) == 20
    assert test.p is not None
    for one, tokens in zip(test.baselines, read, strict=True):
        assert one.share == edit_share(known[0], tokens)
        assert abs(one.share - test.share) <= WINDOW + 1e-12
    assert len({tokens.ids for tokens in (*read, *known)}) == len(read) + 2


@pytest.mark.parametrize("mode", ["completion", "chat"])
def test_effects_are_what_the_engine_says_of_the_same_texts(mode: str) -> None:
    analysis = analysed(VARIANT, mode=mode)
    (test,) = ranked(plain.loaded(), analysis, count=5)
    again = analysed(*(one.text for one in test.baselines), mode=mode)
    base = again.reference.trace
    assert base is not None
    for one, result in zip(test.baselines, again.prompts[1:], strict=True):
        assert result.trace is not None
        assert one.delta == pytest.approx(result.delta, abs=1e-4)
        assert one.jsd == pytest.approx(jsd(base.next_log_probs, result.trace.next_log_probs), abs=1e-5)
    own = analysis.prompts[1].trace
    assert own is not None
    assert test.jsd == pytest.approx(jsd(base.next_log_probs, own.next_log_probs), abs=1e-5)
    assert test.delta == analysis.prompts[1].delta


def test_tests_are_deterministic_in_the_seed() -> None:
    lm, analysis = plain.loaded(), analysed(VARIANT)
    assert ranked(lm, analysis, 8, seed=1) == ranked(lm, analysis, 8, seed=1)
    assert ranked(lm, analysis, 8, seed=1) != ranked(lm, analysis, 8, seed=2)


def test_fewer_baselines_than_asked_for_come_with_a_reason() -> None:
    (test,) = ranked(plain.loaded(), analysed("The capital of Spain is", reference="The capital of France is"), 200)
    assert len(test.baselines) < 200
    assert f"only {len(test.baselines)} of 200" in test.reason
    assert test.asked == 200


def test_in_completion_mode_the_word_before_the_target_stays() -> None:
    (test,) = ranked(plain.loaded(), analysed(VARIANT))
    assert all(one.text.endswith(" Italy") for one in test.baselines)


@pytest.mark.parametrize(("text", "end"), [("It is", "is"), ("It is \n", "is \n"), ("is", "is"), ("Q:\nA:", "A:")])
def test_the_seam_is_the_last_word_with_what_follows(text: str, end: str) -> None:
    assert seam(Prompt(text)) == end
    assert seam(Prompt(text, "chat")) == ""


def test_a_wording_on_its_own_target_is_compared_by_its_distribution_alone() -> None:
    (test,) = ranked(plain.loaded(), analysed(Variant(VARIANT, target=" no")))
    assert test.delta is None
    assert test.p is not None
    assert by((test,), "delta")[0].p is None


def test_the_share_leaves_the_template_out_where_it_is_the_same() -> None:
    chat, completion = (analysed(VARIANT, mode=mode).prompts for mode in ("chat", "completion"))
    shares = []
    for reference, variant in (chat, completion):
        assert reference.trace is not None
        assert variant.trace is not None
        shares.append(edit_share(reference.trace.tokens, variant.trace.tokens))
    assert shares[0] == pytest.approx(shares[1], abs=0.02)


def test_the_work_can_be_stopped_and_says_how_far_it_is() -> None:
    lm, analysis = plain.loaded(), analysed(VARIANT)
    seen: list[float] = []
    noise_tests(lm, analysis, analysis.prompts[1:], count=5, report=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1

    def stop(fraction: float) -> None:
        if fraction > 0.2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        noise_tests(lm, analysis, analysis.prompts[1:], count=5, report=stop)


def test_rows_without_a_result_are_refused_with_a_sentence() -> None:
    analysis = analysed(" ")
    with pytest.raises(SignificanceError, match="rewording 1 could not be analysed"):
        ranked(plain.loaded(), analysis)
    with pytest.raises(SignificanceError, match="the reference could not be analysed"):
        ranked(plain.loaded(), analysed(VARIANT, reference=" "))


# --- many items


def test_nothing_is_said_of_fewer_than_15_items() -> None:
    assert paired_test([1.0] * 14, [0.0] * 14).p is None
    assert paired_flips([True] * 14, [0.0] * 14).interval is None
    assert paired_test([1.0] * 14, [0.0] * 14).mean_difference == 1


def test_the_signed_rank_of_differences_that_are_all_positive_by_hand() -> None:
    """Of 2ⁿ sign patterns one is as extreme."""
    found = paired_test([float(k) for k in range(1, 16)], [0.0] * 15)
    assert found.p == pytest.approx(2.0**-15)


def test_equal_effects_are_no_finding() -> None:
    found = paired_test([0.3] * 20, [0.3] * 20)
    assert found.p == 1
    assert found.interval == (0, 0)
    assert paired_flips([False] * 20, [0.0] * 20).p == 1


def test_flips_of_every_item_are_a_finding() -> None:
    found = paired_flips([True] * 20, [0.1] * 20)
    assert found.mean_difference == pytest.approx(0.9)
    assert found.p is not None
    assert found.p < 0.001


def test_under_the_null_paired_tests_reject_as_often_as_they_say() -> None:
    random = np.random.default_rng(3)
    p = [paired_test(*random.normal(size=(2, 20))).p or 0 for _ in range(1_000)]
    assert (np.array(p) <= 0.05).mean() == pytest.approx(0.05, abs=3 * math.sqrt(0.05 * 0.95 / 1_000))


def test_effects_and_baselines_come_in_pairs() -> None:
    with pytest.raises(ValueError, match="2 effects of the edit and 1 baselines"):
        paired_test([1.0, 2.0], [1.0])
