"""One prompt set on two models, side by side."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from analysis.prompts import PromptSet, Variant
from analysis.results import Analysis, Target
from analysis.two_models import Comparison, compare, correlation_interval, finding
from tests.test_sensitivity import analysis_of, answer, paraphrases


def analysed(prompt_set: PromptSet, *probabilities: float | None, model: str = "one") -> Analysis:
    """As `analysis_of`, with the deltas that follow."""
    made = analysis_of(prompt_set, *probabilities)
    base = made.prompts[0].trace
    results = [
        replace(result, delta=result.trace.log_prob - base.log_prob) if result.trace and base else result
        for result in made.prompts
    ]
    return replace(made, prompts=tuple(results), model=replace(made.model, name=model))


def two_models(one: Analysis, other: Analysis) -> Comparison:
    return compare(one, None, None, other, None, None)


FIVE = paraphrases("a", "b", "c", "d", "e", "f", expected="x")


def test_deltas_are_each_models_own():
    found = two_models(analysed(FIVE, 0.5, 0.4, 0.3, 0.2, 0.1, 0.6), analysed(FIVE, 0.1, 0.2, 0.1, 0.1, 0.1, 0.1))
    assert [row.index for row in found.rows] == list(range(6))
    assert found.rows[1].first.delta == pytest.approx(math.log(0.4 / 0.5))
    assert found.rows[1].second.delta == pytest.approx(math.log(2))
    assert [row.compared for row in found.rows] == [False, *[True] * 5]
    assert found.first.spread == pytest.approx(math.log(6))


def test_the_rank_correlation_is_that_of_the_effects():
    one, other = (0.5, 0.4, 0.3, 0.2, 0.1, 0.6), (0.5, 0.1, 0.3, 0.15, 0.2, 0.45)
    found = two_models(analysed(FIVE, *one), analysed(FIVE, *other))
    assert found.n == 5
    assert found.correlation == pytest.approx(stats.spearmanr(one[1:], other[1:]).statistic)
    assert -1 <= found.interval[0] <= found.correlation <= found.interval[1] <= 1


def test_the_order_of_the_models_does_not_matter():
    one, other = analysed(FIVE, 0.5, 0.4, 0.3, 0.2, 0.1, 0.6), analysed(FIVE, 0.5, 0.1, 0.3, 0.15, 0.2, 0.45)
    there, back = two_models(one, other), two_models(other, one)
    assert (there.correlation, there.interval, there.same_direction) == (
        back.correlation,
        back.interval,
        back.same_direction,
    )
    assert (there.first, there.second) == (back.second, back.first)


@pytest.mark.parametrize(
    ("probabilities", "same"), [((0.5, 0.4, 0.6, 0.3, 0.7, 0.2), 5), ((0.5, 0.6, 0.4, 0.7, 0.3, 0.8), 0)]
)
def test_equal_and_opposite_effects(probabilities, same):
    found = two_models(analysed(FIVE, 0.5, 0.4, 0.6, 0.3, 0.7, 0.2), analysed(FIVE, *probabilities))
    assert found.same_direction == same
    assert found.correlation == pytest.approx(1 if same else -1)


def test_three_rewordings_have_no_rank_correlation():
    few = paraphrases("a", "b", "c", "d")
    found = two_models(analysed(few, 0.5, 0.4, 0.3, 0.2), analysed(few, 0.5, 0.4, 0.3, 0.2))
    assert (found.n, found.correlation, found.interval, found.same_direction) == (3, None, None, 3)


def test_what_cannot_be_compared_on_both_stays_out_of_the_correlation():
    prompts = PromptSet(
        "a", (Variant("b"), Variant("c", kind="control"), Variant("d", target="z"), Variant("e"), Variant("f"))
    )
    found = two_models(
        analysed(prompts, 0.5, 0.4, 0.3, 0.2, None, 0.1), analysed(prompts, 0.5, 0.4, 0.3, 0.2, 0.1, 0.1)
    )
    assert [row.index for row in found.rows if row.compared] == [1, 5]
    assert found.rows[4].first.delta is None
    assert found.rows[4].second.delta is not None
    assert found.rows[2].control


def test_answers_are_compared_with_the_same_models_reference():
    given = [analysed(FIVE, *[0.5] * 6) for _ in range(2)]
    one, other = [[answer(text) for text in texts] for texts in ("xxyyxx", "yyyxyy")]
    found = compare(given[0], one, 0.25, given[1], other, 0.5)
    assert [row.first.flipped for row in found.rows] == [False, False, True, True, False, False]
    assert [row.second.flipped for row in found.rows] == [False, False, False, True, False, False]
    assert [row.second.right for row in found.rows] == [False, False, False, True, False, False]
    assert (found.first.flip_rate, found.second.flip_rate) == (pytest.approx(0.4), pytest.approx(0.2))
    assert (found.first.posix, found.second.posix) == (0.25, 0.5)
    assert "POSIX 0.25 and 0.50 nats per token; 40 % and 20 % of the rewordings change the answer" in finding(found)


def test_the_interval_is_that_of_resampled_prompts():
    random = np.random.default_rng(0)
    a = random.normal(size=12)
    b = a + random.normal(size=12)
    values = []
    for _ in range(3_000):
        chosen = random.integers(12, size=12)
        values.append(stats.spearmanr(a[chosen], b[chosen]).statistic)
    assert correlation_interval(a, b) == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])), abs=0.06)


def test_different_sets_are_refused():
    with pytest.raises(ValueError, match="different prompt sets"):
        two_models(analysed(FIVE, *[0.5] * 6), analysed(paraphrases("a", "b"), 0.5, 0.5))


def test_the_finding():
    one, other = (
        analysed(FIVE, 0.5, 0.4, 0.6, 0.3, 0.7, 0.2, model="A"),
        analysed(FIVE, 0.5, 0.4, 0.6, 0.3, 0.7, 0.2, model="B"),
    )
    found = finding(two_models(one, other))
    assert found.startswith(
        '5 of 5 rewordings move log p(target) the same way on "A" and "B"; the effects agree closely'
    )
    different = replace(other, target=Target("z", (1,), ("z",), False))
    assert "The targets differ" in finding(two_models(one, different))
    none = finding(two_models(analysed(paraphrases("a"), 0.5), analysed(paraphrases("a"), 0.5)))
    assert none.startswith("No rewording")
