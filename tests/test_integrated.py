"""Integrated gradients: completeness, honesty about convergence, and the usual rule beside them."""

from dataclasses import replace

import captum.attr
import numpy as np
import pytest
import torch

from analysis import gradients
from analysis.attribution import gradient_maps
from analysis.attribution_results import AttributionError, held_tokens
from analysis.integrated import fixed_rule, integrated_gradients
from analysis.model import LanguageModel, assemble
from tests import handmade, tiny
from tests.handmade import asked, log_prob_of_embeddings, plain_log_prob

FAMILIES = ["llama", "llama tied", "qwen3", "gpt2", "gemma", "gemma2", "gemma3", "opt", "phi"]
TEXT = "What is the capital of France?"
TARGET = " Paris is"


def model(family: str = "llama") -> LanguageModel:
    return assemble(tiny.network(family), tiny.tokenizer(), "tiny")


def evidence_model() -> LanguageModel:
    return handmade.evidence_model({" capital": 0.2, " France": 1.0, " of": -0.5}, " Paris")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("foil", [None, " yes", " Rome. The"])
def test_scores_sum_to_the_rise_from_the_baseline(family: str, foil: str | None) -> None:
    lm = model(family)
    tokens, target = asked(lm, TEXT, TARGET)
    other = None if foil is None else asked(lm, TEXT, foil)[1]
    filler = (tokens.ids[0], *[lm.encoder.filler_id] * (len(tokens) - 1))

    def value(ids: tuple[int, ...]) -> float:
        found = plain_log_prob(lm, ids, target.ids)
        return found - plain_log_prob(lm, ids, other.ids) if other else found

    found = integrated_gradients(lm, tokens, target, other, tolerance=0.01, budget=1025)
    rise = value(tokens.ids) - value(filler)
    assert found.converged
    assert found.value == pytest.approx(value(tokens.ids), abs=1e-4)
    assert found.baseline_value == pytest.approx(value(filler), abs=1e-4)
    assert found.scores.sum() == pytest.approx(rise, abs=0.01 * abs(rise) + 1e-4)
    assert found.relative_error is not None
    assert found.relative_residual is not None
    assert found.relative_residual <= found.relative_error + 1e-9
    assert found.relative_error <= 0.01


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma"])
def test_scores_are_the_integral(family: str) -> None:
    """Against the mean of 2 000 equal steps of captum's own gradients, token by token."""
    lm = model(family)
    tokens, target = asked(lm, TEXT, TARGET)
    embeds = lm.network.model.get_input_embeddings()
    end = embeds(torch.tensor([tokens.ids])).detach()
    start = embeds(torch.tensor([[tokens.ids[0], *[lm.encoder.filler_id] * (len(tokens) - 1)]])).detach()
    rule = captum.attr.IntegratedGradients(lambda points: log_prob_of_embeddings(lm, points, target.ids))
    exact = rule.attribute(end, start, n_steps=2000, method="riemann_middle", internal_batch_size=200)
    exact = exact.sum(-1)[0].detach().numpy()
    found = integrated_gradients(lm, tokens, target, tolerance=0.001, budget=1025)
    assert found.converged
    assert np.abs(found.scores - exact).max() <= 2e-3 * np.abs(exact).sum()


def test_a_linear_model_is_integrated_exactly_and_at_once() -> None:
    """Contrast = 8 · mean evidence: every token's score is 8 · evidence / T, and scores add up."""
    evidence = {" capital": 0.2, " France": 1.0, " of": -0.5}
    lm = handmade.evidence_model(evidence, " Paris")
    tokens, target = asked(lm, TEXT, " Paris")
    _, foil = asked(lm, TEXT, " Rome")
    shares = [8 * evidence.get(piece, 0.0) / len(tokens) for piece in tokens.pieces]
    found = integrated_gradients(lm, tokens, target, foil, tolerance=1e-4)
    assert found.converged
    assert found.evaluations == 9
    assert np.allclose(found.scores, shares, atol=2e-3)
    assert found.value == pytest.approx(sum(shares), abs=2e-3)
    assert found.baseline_value == pytest.approx(0.0, abs=2e-3)


def test_the_mean_baseline_is_the_mean_of_the_vocabulary() -> None:
    for family in ("llama", "gemma"):  # Gemma scales its embeddings
        lm = model(family)
        tokens, target = asked(lm, TEXT, TARGET)
        size = lm.encoder.full.get_vocab_size()
        embeds = lm.network.model.get_input_embeddings()(torch.arange(size)).detach()
        start = lm.network.model.get_input_embeddings()(torch.tensor([tokens.ids])).detach()
        start[:, 1:] = embeds.mean(dim=0)
        found = integrated_gradients(lm, tokens, target, baseline="mean")
        assert found.baseline == "mean"
        expected = log_prob_of_embeddings(lm, start, target.ids)
        assert found.baseline_value == pytest.approx(float(expected), abs=1e-4)


def test_held_tokens_do_not_move() -> None:
    lm = model()
    tokens, target = asked(lm, "is the sky blue?", " yes", mode="chat")
    found = integrated_gradients(lm, tokens, target)
    held = held_tokens(tokens)
    assert found.held == held
    assert (found.scores[list(held)] == 0).all()
    assert (found.scores[[not here for here in held]] != 0).all()
    filled = [index if here else lm.encoder.filler_id for index, here in zip(tokens.ids, held, strict=True)]
    assert found.baseline_value == pytest.approx(plain_log_prob(lm, filled, target.ids), abs=1e-4)
    free = integrated_gradients(lm, tokens, target, held=(False,) * len(tokens))
    assert free.scores[0] != 0


def test_a_small_budget_is_said_not_to_converge() -> None:
    lm = model()
    tokens, target = asked(lm, TEXT, TARGET)
    for budget in (3, 5, 9, 10, 33):
        found = integrated_gradients(lm, tokens, target, tolerance=1e-7, budget=budget)
        assert not found.converged
        assert found.evaluations <= budget
        assert found.relative_error is not None
        assert found.relative_error > 1e-7
    with pytest.raises(ValueError, match="at least 3 evaluations, not 2"):
        integrated_gradients(lm, tokens, target, budget=2)


@pytest.mark.parametrize("family", ["llama", "gemma", "opt"])
def test_a_larger_budget_has_a_smaller_error(family: str) -> None:
    lm = model(family)
    tokens, target = asked(lm, TEXT, TARGET)
    small, large = (integrated_gradients(lm, tokens, target, tolerance=0.0, budget=budget) for budget in (9, 65))
    assert large.local_error < small.local_error / 4


def test_converged_means_within_the_tolerance() -> None:
    lm = model("opt")
    tokens, target = asked(lm, TEXT, TARGET)
    for tolerance in (0.3, 0.05, 0.01):
        found = integrated_gradients(lm, tokens, target, tolerance=tolerance, budget=513)
        assert found.converged
        assert found.local_error <= tolerance * abs(found.value - found.baseline_value)
        assert abs(found.residual) <= found.local_error + 1e-9


def test_a_prompt_that_is_its_own_baseline_has_no_share() -> None:
    lm = model()
    tokens, target = asked(lm, "?<pad><pad>", " yes")
    assert set(tokens.ids[1:]) == {lm.encoder.filler_id}
    found = integrated_gradients(lm, tokens, target)
    assert not found.scores.any()
    assert found.relative_error is None


def test_points_that_are_not_finite_are_not_zero() -> None:
    network = tiny.network()
    with torch.no_grad():
        network.get_input_embeddings().weight[tiny.tokenizer().pad_token_id] = float("nan")
    lm = assemble(network, tiny.tokenizer(), "tiny")
    tokens, target = asked(lm, TEXT, TARGET)
    for found in (integrated_gradients(lm, tokens, target), fixed_rule(lm, tokens, target)):
        assert np.isnan(found.scores).all()
        assert not found.converged
        assert found.relative_error is None
        assert found.relative_residual is None
        assert np.isfinite(found.value)


def test_a_prompt_without_free_tokens_is_refused() -> None:
    lm = model()
    tokens, target = asked(lm, "?", " yes")
    with pytest.raises(AttributionError, match="every token of this prompt is held"):
        integrated_gradients(lm, tokens, target)


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma"])
def test_the_fixed_rule_is_captums(family: str) -> None:
    lm = model(family)
    tokens, target = asked(lm, TEXT, TARGET)
    embeds = lm.network.model.get_input_embeddings()
    end = embeds(torch.tensor([tokens.ids])).detach()
    start = embeds(torch.tensor([[tokens.ids[0], *[lm.encoder.filler_id] * (len(tokens) - 1)]])).detach()
    rule = captum.attr.IntegratedGradients(lambda points: log_prob_of_embeddings(lm, points, target.ids))
    expected, delta = rule.attribute(end, start, n_steps=50, method="gausslegendre", return_convergence_delta=True)
    found = fixed_rule(lm, tokens, target)
    assert np.allclose(found.scores, expected.sum(-1)[0].detach().numpy(), atol=1e-4)
    assert found.residual == pytest.approx(float(delta), abs=1e-4)
    assert found.evaluations == 50
    assert found.rule == "Gauss–Legendre, 50 points"
    assert found.local_error == pytest.approx(abs(found.residual))


def test_the_fixed_rule_takes_a_foil() -> None:
    lm = evidence_model()
    tokens, target = asked(lm, TEXT, " Paris")
    _, foil = asked(lm, TEXT, " Rome. The")
    fixed, adaptive = fixed_rule(lm, tokens, target, foil, points=20), integrated_gradients(lm, tokens, target, foil)
    assert fixed.converged
    assert np.allclose(fixed.scores, adaptive.scores, atol=1e-3)


def test_a_few_points_at_a_time_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = model()
    tokens, target = asked(lm, TEXT, TARGET)
    _, foil = asked(lm, TEXT, " Rome. The")
    given = {"tolerance": 0.02}
    together = integrated_gradients(lm, tokens, target, foil, **given)
    fixed = fixed_rule(lm, tokens, target, foil)
    monkeypatch.setattr(gradients, "ACTIVATION_BYTES", 1)
    alone = integrated_gradients(lm, tokens, target, foil, **given)
    assert alone.converged
    assert together.converged
    assert np.allclose(alone.scores, together.scores, atol=0.04 * abs(together.value - together.baseline_value))
    assert np.allclose(fixed_rule(lm, tokens, target, foil).scores, fixed.scores, atol=1e-5)


def test_passes_stay_within_the_budget_of_tokens() -> None:
    lm = model()
    tokens, target = asked(lm, TEXT, TARGET)
    what = gradients.objective(tokens, target)
    assert gradients.points_per_pass(lm.network, what) == gradients.MAX_POINTS
    longer = replace(what, prompt=what.prompt * 60)
    size = gradients.points_per_pass(lm.network, longer)
    assert 1 <= size < gradients.MAX_POINTS
    assert size * longer.tokens_read <= gradients.CHUNK_TOKENS


def test_a_large_vocabulary_takes_fewer_points_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = model()
    tokens, target = asked(lm, TEXT, TARGET)
    what = gradients.objective(tokens, target)
    head = 16 * lm.network.vocabulary * len(what.terms)
    activations = gradients.token_bytes(lm.network) * what.tokens_read
    monkeypatch.setattr(gradients, "ACTIVATION_BYTES", 3 * (head + activations))
    assert gradients.points_per_pass(lm.network, what) == 3


def test_gradient_x_input_ranks_as_integrated_gradients_where_nothing_bends() -> None:
    lm = evidence_model()
    tokens, target = asked(lm, TEXT, " Paris")
    maps, found = gradient_maps(lm, tokens, target), integrated_gradients(lm, tokens, target)
    assert np.allclose(maps.gradient_x_input, found.scores, atol=0.02)
