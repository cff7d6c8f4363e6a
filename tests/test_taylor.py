"""Pairs of prompts: estimates, bounds, the certified interval, and divergences."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import divergence, taylor
from analysis.encoding import encode, target_from_ids
from analysis.explore import Caches, analyse
from analysis.model import assemble
from analysis.prompts import Prompt, PromptSet, Variant
from analysis.results import Analysis, Target, Tokens, Trace
from analysis.trace import Item, traces
from tests import tiny

LAYERS, HIDDEN, VOCABULARY = 3, 6, 11


def log_softmax(logits: np.ndarray) -> np.ndarray:
    return logits - np.logaddexp.reduce(logits)


def head_trace(seed: int, state: np.ndarray, head: np.ndarray, target: int = 2) -> Trace:
    """A trace whose last layer is read by a linear head, its gradient by the formula W_y − Σ p W."""
    rng = np.random.default_rng(seed)
    logs = log_softmax(head @ state)
    hidden, gradient = rng.normal(size=(2, 1, LAYERS, HIDDEN))
    hidden[0, -1] = state
    gradient[0, -1] = head[target] - np.exp(logs) @ head
    return Trace(
        tokens=Tokens("a b", (seed, 1), ("a", " b"), ((0, 1), (1, 3)), ("text", "text"), (False, False)),
        target=Target("y", (target,), ("y",), True),
        target_log_probs=logs[[target]],
        next_log_probs=logs,
        hidden=hidden,
        gradient=gradient,
        saliency=None,
        gradient_x_input=None,
    )


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    lm = assemble(tiny.network("llama"), tiny.tokenizer(), "tiny")
    variants = (
        Variant("What is the capital of France?"),
        Variant("The capital of France is"),
        Variant("one two", target=" Rome"),
        Variant("", kind="paraphrase"),
        Variant("The capital of Italy is", kind="negative control"),
    )
    return analyse(lm, PromptSet("The capital of France is", variants, target=" Paris."), Caches())


@given(st.integers(0, 10_000), st.floats(0.01, 8))
def test_the_interval_at_a_linear_head_holds_and_its_ends_are_divergences(seed, step):
    rng = np.random.default_rng(seed)
    head, state, move = rng.normal(size=(VOCABULARY, HIDDEN)), rng.normal(size=HIDDEN), rng.normal(size=HIDDEN)
    a, b = head_trace(1, state, head), head_trace(2, state + step * move, head)
    pair = taylor.compare(a, b)
    delta = b.log_prob - a.log_prob
    assert pair.lower - 1e-9 <= delta <= pair.upper + 1e-9
    assert abs(delta) <= pair.certified + 1e-9
    assert pair.upper == pytest.approx(delta + divergence.kl(a.next_log_probs, b.next_log_probs), abs=1e-8)
    assert pair.lower == pytest.approx(delta - divergence.kl(b.next_log_probs, a.next_log_probs), abs=1e-8)


def test_the_first_order_error_falls_with_the_square_of_the_step():
    rng = np.random.default_rng(0)
    head, state, move = rng.normal(size=(VOCABULARY, HIDDEN)), rng.normal(size=HIDDEN), rng.normal(size=HIDDEN)
    a = head_trace(1, state, head)

    def error(step: float) -> float:
        b = head_trace(2, state + step * move, head)
        return abs(b.log_prob - a.log_prob - taylor.compare(a, b).taylor[-1])

    assert error(0.01) / error(0.005) == pytest.approx(4, rel=0.05)


@given(st.integers(0, 10_000))
def test_no_estimate_exceeds_its_bound(seed):
    head = np.random.default_rng(seed).normal(size=(VOCABULARY, HIDDEN))
    a, b = (head_trace(seed + i, np.random.default_rng(seed + i).normal(size=HIDDEN), head) for i in (1, 2))
    pair = taylor.compare(a, b)
    assert (abs(pair.taylor) <= pair.bound * (1 + 1e-12)).all()
    assert pair.certified >= pair.bound[-1]


def test_swapping_the_prompts_turns_the_differences_round():
    head = np.random.default_rng(3).normal(size=(VOCABULARY, HIDDEN))
    a, b = (head_trace(i, np.random.default_rng(i).normal(size=HIDDEN), head) for i in (1, 2))
    there, back = taylor.compare(a, b), taylor.compare(b, a)
    assert there.delta == -back.delta
    np.testing.assert_array_equal(there.distance, back.distance)
    assert (there.lower, there.upper) == pytest.approx((-back.upper, -back.lower))
    assert there.certified == pytest.approx(back.certified)


def test_equal_prompts_are_at_distance_exactly_0():
    head = np.random.default_rng(3).normal(size=(VOCABULARY, HIDDEN))
    a = head_trace(1, np.ones(HIDDEN), head)
    pair = taylor.compare(a, a)
    for values in (pair.distance, pair.relative, pair.cosine, pair.taylor, pair.bound):
        assert (values == 0).all()
    assert (pair.delta, pair.lower, pair.upper, pair.certified) == (0, 0, 0, 0)
    assert not pair.violations.any()


def test_distances_of_states_at_a_right_angle_and_opposite():
    h_a, h_b = np.array([[3.0, 0.0], [1.0, 0.0], [0.0, 0.0]]), np.array([[0.0, 4.0], [-2.0, 0.0], [0.0, 0.0]])
    distance, relative, cosine = taylor.distances(h_a, h_b)
    np.testing.assert_allclose(distance, [5, 3, 0])
    np.testing.assert_allclose(relative, [5 / 3.5, 3 / 1.5, 0])
    np.testing.assert_allclose(cosine, [1, 2, 0], atol=1e-15)


def test_cosine_distance_does_not_depend_on_the_scale():
    h_a, h_b = np.random.default_rng(0).normal(size=(2, 4, 8))
    near = h_a + 1e-7 * h_b
    np.testing.assert_allclose(taylor.distances(h_a, 50 * h_b)[2], taylor.distances(h_a, h_b)[2])
    assert (taylor.distances(h_a, near)[2] > 0).all()


def test_a_bound_is_violated_where_the_change_is_larger():
    pair = taylor.TokenPair(-2.0, *[np.zeros(3)] * 4, np.array([0.0, 2.0, 1.9]), None, None, None)
    assert pair.violations.tolist() == [True, False, True]


def test_without_gradients_distances_remain():
    head = np.random.default_rng(3).normal(size=(VOCABULARY, HIDDEN))
    a, b = (head_trace(i, np.random.default_rng(i).normal(size=HIDDEN), head) for i in (1, 2))
    pair = taylor.compare(replace(a, gradient=None), b)
    assert pair.delta == b.log_prob - a.log_prob
    assert (pair.distance > 0).all()
    assert (pair.taylor, pair.bound, pair.lower, pair.upper, pair.certified, pair.violations) == (None,) * 6


def test_a_soft_capped_head_has_no_certificate():
    lm = assemble(tiny.network("gemma2"), tiny.tokenizer(), "tiny")
    found = analyse(lm, PromptSet("The capital of France is", (Variant("Paris is"),), target=" Paris"), Caches())
    (pair,) = taylor.pairs(found)
    assert pair.tokens[0].taylor is not None
    assert (pair.tokens[0].lower, pair.tokens[0].upper, pair.tokens[0].certified) == (None, None, None)


@pytest.mark.parametrize("family", ["llama", "gpt2", "opt", "gemma"])
def test_the_interval_holds_on_whole_models_for_every_target_token(family):
    lm = assemble(tiny.network(family), tiny.tokenizer(), "tiny")
    target = target_from_ids(lm.encoder, (60, 70, 80), chosen=True)
    prompts = ("The capital of France is", "What is the capital of France?", "one two three")
    a, *others = traces(lm, [Item(encode(lm.encoder, Prompt(text)), target) for text in prompts])
    for b in others:
        for k in range(3):
            pair = taylor.compare(a, b, k)
            assert pair.lower - 1e-4 <= pair.delta <= pair.upper + 1e-4
        first = taylor.compare(a, b)
        assert first.upper == pytest.approx(first.delta + divergence.kl(a.next_log_probs, b.next_log_probs), abs=1e-3)


def test_pairs_are_all_of_the_analysed_prompts(analysis):
    pairs = taylor.pairs(analysis)
    assert [(pair.a, pair.b) for pair in pairs] == [(a, b) for a in (0, 1, 2, 3, 5) for b in (1, 2, 3, 5) if a < b]
    assert [(pair.a, pair.b) for pair in taylor.against_reference(analysis)] == [(0, 1), (0, 2), (0, 3), (0, 5)]
    assert all(len(pair.tokens) == (1 if pair.own_target else len(analysis.target)) for pair in pairs)


def test_deltas_point_from_a_to_b_and_sum_over_the_targets_tokens(analysis):
    for pair in taylor.pairs(analysis):
        a, b = analysis.prompts[pair.a].trace, analysis.prompts[pair.b].trace
        assert pair.delta == b.log_prob - a.log_prob
        if not pair.own_target:
            assert sum(token.delta for token in pair.tokens) == pytest.approx(pair.delta, abs=1e-5)


def test_rows_with_another_target_compare_states_but_no_gradients(analysis):
    (pair,) = (pair for pair in taylor.against_reference(analysis) if pair.b == 3)
    assert pair.own_target
    assert pair.tokens[0].distance[-1] > 0
    assert pair.jsd > 0
    assert (pair.tokens[0].delta, pair.tokens[0].taylor, pair.tokens[0].bound, pair.tokens[0].upper) == (None,) * 4


def test_a_duplicate_differs_by_exactly_0(analysis):
    (pair,) = (pair for pair in taylor.against_reference(analysis) if pair.b == 2)
    assert (pair.delta, pair.jsd, pair.tokens[0].upper) == (0, 0, 0)


def test_a_failed_prompt_cannot_be_compared(analysis):
    with pytest.raises(ValueError, match="prompt 4 could not be analysed"):
        taylor.pair(analysis, 0, 4)


def test_divergences_of_equal_distributions_are_exactly_0():
    logs = log_softmax(np.random.default_rng(0).normal(size=1000) * 8).astype(np.float32)
    assert divergence.jsd(logs, logs) == 0
    assert divergence.kl(logs, logs) == 0


def test_divergences_are_finite_where_probabilities_underflow():
    a, b = np.array([0.0, -200.0], np.float32), np.array([-200.0, 0.0], np.float32)
    assert divergence.jsd(a, b) == pytest.approx(math.log(2), abs=1e-12)
    assert divergence.kl(a, b) == pytest.approx(200)


def test_distributions_without_a_common_token_are_ln_2_apart():
    a, b = np.log([0.5, 0.5, 1e-320]), np.log([1e-320, 1e-320, 1.0])
    a[2], b[:2] = -np.inf, -np.inf
    assert divergence.jsd(a, b) == math.log(2)
    assert divergence.kl(a, b) == math.inf


@given(st.integers(0, 10_000), st.floats(0.01, 40))
def test_jsd_is_the_entropy_of_the_mean_less_the_mean_entropy(seed, scale):
    a, b = (log_softmax(logits) for logits in np.random.default_rng(seed).normal(size=(2, 50)) * scale)
    p, q = np.exp(a), np.exp(b)

    def entropy(x: np.ndarray) -> float:
        return -float((x[x > 0] * np.log(x[x > 0])).sum())

    assert divergence.jsd(a, b) == pytest.approx(entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2, abs=1e-12)
    assert 0 <= divergence.jsd(a, b) <= math.log(2)
    assert divergence.jsd(a, b) == pytest.approx(divergence.jsd(b, a), abs=1e-12)


def test_the_one_sided_bound_at_the_head_can_fail_where_the_certified_one_holds():
    """A confident reference has almost no gradient, and a variant breaks it all the same."""
    head = np.zeros((VOCABULARY, HIDDEN))
    head[2, 0], head[3, 1] = 1.0, 1.0
    sure, broken = np.zeros(HIDDEN), np.zeros(HIDDEN)
    sure[0], broken[1] = 30.0, 30.0
    found = taylor.compare(head_trace(1, sure, head), head_trace(2, broken, head))
    assert found.bound[-1] < 1e-6 < abs(found.delta)
    assert found.violations[-1]
    assert abs(found.delta) <= found.certified
    assert found.lower - 1e-9 <= found.delta <= found.upper + 1e-9
