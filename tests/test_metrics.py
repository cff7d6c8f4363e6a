"""Single numbers over wordings: by hand, by laws, and against other ways to the same number."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis import intervals
from analysis.divergence import jsd
from analysis.metrics import (
    consistency,
    half_widths,
    jsd_of_many,
    largest_pss,
    pss,
    resamplings,
    resamplings_of_many,
    sensitivity_of,
)
from analysis.sensitivity import cps, posix

scores = st.lists(st.floats(0, 1), min_size=2, max_size=9)


def log_softmax(logits: np.ndarray) -> np.ndarray:
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def distributions(seed: int, n: int, vocabulary: int = 40, scale: float = 3.0) -> np.ndarray:
    return log_softmax(np.random.default_rng(seed).normal(size=(n, vocabulary)) * scale)


# --- POSIX, PSS, CPS


def test_posix_of_one_response_at_three_log_probs():
    """Ordered pairs differ by 3, 8 and 5 nats, each twice: 32 nats over 6 pairs and 5 tokens."""
    same_response = np.tile([[-1.0], [-4.0], [-9.0]], (1, 3))
    assert posix(same_response, [5, 5, 5]) == pytest.approx(32 / 6 / 5)
    assert round(posix(same_response, [5, 5, 5]), 4) == 1.0667


def test_pss_by_hand():
    assert pss([1, 1, 0, 0]) == pytest.approx(2 / 3)
    assert pss([1] * 6 + [0] * 6) == pytest.approx(36 / 66)
    assert pss([0.4]) is None
    assert pss([0.4, 0.4, 0.4]) == 0


@given(st.integers(2, 40), st.integers(0, 40))
def test_pss_of_right_and_wrong_counts_the_pairs_that_disagree(n, right):
    right = min(right, n)
    assert pss([1] * right + [0] * (n - right)) == pytest.approx(right * (n - right) / math.comb(n, 2))


@given(st.integers(2, 40))
def test_the_largest_pss_is_that_of_halves(n):
    assert largest_pss(n) == pytest.approx(max(pss([1] * k + [0] * (n - k)) for k in range(n + 1)))


@given(scores)
def test_no_scores_have_a_pss_beyond_the_largest(given_scores):
    assert 0 <= pss(given_scores) <= largest_pss(len(given_scores)) + 1e-12


def test_there_is_no_largest_pss_of_one_score():
    assert largest_pss(1) is None


def test_cps_by_hand():
    assert cps(np.array([0.2, 0.6, 1.0])) == pytest.approx(0.6)


# --- answers as classes


def test_sensitivity_of_answers_by_hand():
    assert sensitivity_of("AABB", 2) == 1
    assert sensitivity_of("AAAA", 2) == 0
    assert sensitivity_of("AAAA", 1) == 0
    assert sensitivity_of("AABB", 4) == pytest.approx(0.5)
    assert sensitivity_of("ABCD", 4) == 1
    assert sensitivity_of("", 3) is None


def test_more_classes_than_possible_are_an_error():
    with pytest.raises(ValueError, match=r"3 classes .* at most 2"):
        sensitivity_of("ABC", 2)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12))
def test_sensitivity_is_the_entropy_of_the_shares(classes):
    shares = [classes.count(one) / len(classes) for one in range(5)]
    assert sensitivity_of(classes, 5) == pytest.approx(stats.entropy(shares) / math.log(5), abs=1e-12)


def test_consistency_of_answer_shares():
    assert consistency(np.array([0.5, 0.5]), np.array([0.5, 0.5])) == 1
    assert consistency(np.array([1.0, 0.0]), np.array([0.0, 1.0])) == 0
    assert consistency(np.array([0.75, 0.25]), np.array([0.25, 0.75])) == pytest.approx(0.5)


# --- divergence of many


@given(st.integers(0, 200))
def test_of_two_it_is_the_divergence_of_two(seed):
    p, q = distributions(seed, 2)
    assert jsd_of_many(np.stack([p, q])) == pytest.approx(jsd(p, q), abs=1e-12)


def test_disjoint_distributions_are_as_far_apart_as_can_be():
    apart = np.full((4, 4), -np.inf)
    np.fill_diagonal(apart, 0.0)
    assert jsd_of_many(apart) == pytest.approx(math.log(4), abs=1e-12)
    assert jsd_of_many(apart[:2]) == pytest.approx(math.log(2), abs=1e-12)
    assert jsd(*apart[:2]) == pytest.approx(math.log(2), abs=1e-12)


@given(st.integers(0, 200), st.integers(1, 7), st.sampled_from([np.float32, np.float64]))
def test_equal_distributions_are_exactly_0_apart(seed, n, kind):
    one = distributions(seed, 1, vocabulary=20_000, scale=40.0).astype(kind)
    assert jsd_of_many(np.repeat(one, n, axis=0)) == 0


def test_it_is_finite_where_probabilities_underflow():
    low = log_softmax(np.array([[0.0, -200.0, -1000.0], [-200.0, 0.0, -1000.0], [-1000.0, -200.0, 0.0]]))
    assert jsd_of_many(low) == pytest.approx(math.log(3), abs=1e-6)
    assert math.isfinite(jsd(low[0].astype(np.float32), low[1].astype(np.float32)))


@given(st.integers(0, 200), st.integers(2, 6))
def test_it_is_what_the_mean_has_more_entropy_than_its_parts(seed, n):
    logs = distributions(seed, n)
    p = np.exp(logs)
    assert jsd_of_many(logs) == pytest.approx(stats.entropy(p.mean(axis=0)) - stats.entropy(p, axis=1).mean(), abs=1e-9)


def test_none_of_no_distributions():
    assert jsd_of_many(np.zeros((0, 5))) is None


# --- how many wordings a stable mean needs


@given(scores)
def test_the_standard_error_is_that_of_all_choices_without_replacement(given_scores):
    z = stats.norm.ppf(0.975)
    for n, half in enumerate(half_widths(given_scores), start=1):
        means = [np.mean(chosen) for chosen in itertools.combinations(given_scores, n)]
        assert half == pytest.approx(z * np.std(means), abs=1e-9)


def test_a_mean_of_the_needed_number_is_near_as_often_as_promised():
    """Drawn at random: within ε in about 95 of 100 draws, and one wording fewer is not enough."""
    random = np.random.default_rng(3)
    population = random.normal(size=64)
    epsilon = 0.2
    n = resamplings(population, epsilon)
    draws = np.array([random.permutation(population)[:n].mean() for _ in range(20_000)])
    assert np.mean(np.abs(draws - population.mean()) <= epsilon) == pytest.approx(0.95, abs=0.02)
    assert half_widths(population)[n - 1] <= epsilon < half_widths(population)[n - 2]


def test_how_many_are_needed_at_the_ends():
    assert resamplings([0.5, 0.5, 0.5], 0.01) == 1
    assert resamplings([0.0, 1.0, 0.0, 1.0], 1e-9) == 4
    assert resamplings([0.5], 0.1) is None


@given(scores, st.floats(0.01, 0.5))
def test_a_looser_mean_needs_no_more_wordings(given_scores, epsilon):
    assert resamplings(given_scores, 2 * epsilon) <= resamplings(given_scores, epsilon) <= len(given_scores)
    assert resamplings(given_scores, epsilon, delta=0.2) <= resamplings(given_scores, epsilon, delta=0.01)


def test_for_all_wordings_that_could_be_written_it_is_the_textbook_number():
    spread_out = [0.0, 1.0] * 10
    assert resamplings_of_many(spread_out, 0.1) == math.ceil((1.959964 / 0.1) ** 2 * 0.25 * 20 / 19)
    assert resamplings_of_many([0.5, 0.5], 0.1) == 1
    assert resamplings_of_many([0.5], 0.1) is None


# --- intervals


def test_the_interval_of_a_mean_is_that_of_scipy():
    values = np.random.default_rng(1).normal(size=30)
    wanted = stats.bootstrap((values,), np.mean, n_resamples=20_000, method="percentile", rng=2).confidence_interval
    assert intervals.of_mean(values) == pytest.approx((wanted.low, wanted.high), abs=0.03)


def test_the_interval_of_a_mean_of_pairs_is_that_of_pairs_of_different_prompts():
    """Resample by resample, the slow way."""
    random = np.random.default_rng(4)
    matrix = random.random((7, 7))
    np.fill_diagonal(matrix, 0.0)
    means = []
    for _ in range(4_000):
        chosen = random.integers(7, size=7)
        pairs = [matrix[a, b] for a, b in itertools.permutations(chosen, 2) if a != b]
        means.append(np.mean(pairs))
    assert intervals.of_pairs(matrix) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])), abs=0.03)


def test_what_is_equal_for_every_pair_has_an_interval_without_width():
    assert intervals.of_pairs(np.full((6, 6), 0.7)) == pytest.approx((0.7, 0.7))
    assert intervals.of_pairs(np.zeros((6, 6))) == (0, 0)


def test_an_interval_holds_its_number_and_is_the_same_each_time():
    values = np.random.default_rng(5).random(12)
    matrix = np.abs(values[:, None] - values[None])
    low, high = intervals.of_pairs(matrix)
    assert low < pss(values) < high
    assert intervals.of_pairs(matrix) == (low, high)
    assert intervals.of_pairs(matrix, seed=1) != (low, high)


def test_the_interval_of_an_entropy():
    assert intervals.of_entropy("AAAAAA", 2) == (0, 0)
    low, high = intervals.of_entropy("AAAAAABBBBBB", 2)
    assert 0.6 < low < high == pytest.approx(1.0)


def test_too_few_wordings_have_no_interval():
    assert intervals.of_mean([1.0, 2.0, 3.0, 4.0]) is None
    assert intervals.of_pairs(np.zeros((4, 4))) is None
    assert intervals.of_entropy("ABAB", 2) is None


@given(st.integers(0, 30), st.integers(1, 30))
def test_the_interval_of_a_share_is_that_of_scipy(successes, trials):
    successes = min(successes, trials)
    wanted = stats.binomtest(successes, trials).proportion_ci(method="wilson")
    assert intervals.wilson(successes, trials) == pytest.approx((wanted.low, wanted.high), abs=1e-9)
    assert intervals.wilson(0, 0) is None
