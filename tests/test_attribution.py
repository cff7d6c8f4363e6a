"""Gradient maps against independent derivatives, contrast, target tokens, and what any analysis leaves behind."""

import threading
from collections.abc import Callable
from dataclasses import replace

import captum.attr
import numpy as np
import pytest
import torch

from analysis import gradients
from analysis.ablation import deletion_curve, leave_one_out
from analysis.agreement import agreement, rank_correlation, token_effects_pair
from analysis.attribution import gradient_maps, per_target_token
from analysis.attribution_results import AttributionError, LeaveOneOut, held_tokens
from analysis.diff import token_alignment
from analysis.encoding import target_from_ids
from analysis.integrated import fixed_rule, integrated_gradients
from analysis.model import LanguageModel, assemble
from analysis.results import Target, Tokens, Trace
from analysis.scoring import score
from analysis.trace import Item, traces
from tests import handmade, tiny
from tests.handmade import asked

FAMILIES = ["llama", "llama tied", "gpt2", "gemma", "gemma2", "opt", "phi"]
TEXT = "What is the capital of France?"
TARGET = " Paris is one"
FOIL = " yes"
RELATIVE = 1e-4

Analysis = Callable[..., object]
ANALYSES: dict[str, Analysis] = {
    "gradient maps": gradient_maps,
    "per target token": lambda lm, tokens, target, foil, report: per_target_token(lm, tokens, target, report),
    "leave-one-out": leave_one_out,
    "replacement": lambda *given, report: leave_one_out(*given, by="replacement", report=report),
    "integrated gradients": lambda *given, report: integrated_gradients(
        *given, tolerance=0.0, budget=33, report=report
    ),
    "fixed rule": lambda *given, report: fixed_rule(*given, points=20, report=report),
    "deletion curve": lambda lm, tokens, target, foil, report: deletion_curve(
        lm, tokens, target, np.arange(len(tokens)), foil, report=report
    ),
}


def model(family: str = "llama", double: bool = False) -> LanguageModel:
    network = tiny.network(family)
    return assemble(network.double() if double else network, tiny.tokenizer(), "tiny")


def close(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal to RELATIVE of the largest entry."""
    return bool(np.abs(a - b).max() <= RELATIVE * np.abs(b).max())


def gradient(lm: LanguageModel, ids: tuple[int, ...], target: tuple[int, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    """Embeddings [1, T, H] and ∂ log p(target) / ∂ them, by autograd through transformers' own forward."""
    embeds = lm.network.model.get_input_embeddings()(torch.tensor([ids])).detach().requires_grad_(True)
    (found,) = torch.autograd.grad(handmade.log_prob_of_embeddings(lm, embeds, target).sum(), embeds)
    return embeds.detach(), found


@pytest.mark.parametrize("family", FAMILIES)
def test_maps_equal_an_independent_derivative(family: str) -> None:
    lm = model(family)
    tokens, target = asked(lm, TEXT, TARGET)
    embeds, found = gradient(lm, tokens.ids, target.ids)
    maps = gradient_maps(lm, tokens, target)
    assert close(maps.saliency, found[0].norm(dim=-1).numpy())
    assert close(maps.gradient_x_input, (found * embeds)[0].sum(-1).numpy())


@pytest.mark.parametrize("family", FAMILIES)
def test_maps_equal_captum(family: str) -> None:
    lm = model(family)
    tokens, target = asked(lm, TEXT, TARGET)
    embeds, _ = gradient(lm, tokens.ids, target.ids)

    def log_prob(points: torch.Tensor) -> torch.Tensor:
        return handmade.log_prob_of_embeddings(lm, points, target.ids)

    absolute = captum.attr.Saliency(log_prob).attribute(embeds.clone().requires_grad_(True))
    product = captum.attr.InputXGradient(log_prob).attribute(embeds.clone().requires_grad_(True))
    maps = gradient_maps(lm, tokens, target)
    assert close(maps.saliency, absolute[0].norm(dim=-1).detach().numpy())
    assert close(maps.gradient_x_input, product[0].sum(-1).detach().numpy())


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma", "opt"])
def test_maps_of_a_plain_target_are_the_live_ones(family: str) -> None:
    lm = model(family)
    tokens, target = asked(lm, TEXT, TARGET)
    (trace,) = traces(lm, [Item(tokens, target)])
    assert isinstance(trace, Trace)
    assert trace.saliency is not None
    assert trace.gradient_x_input is not None
    maps = gradient_maps(lm, tokens, target)
    assert maps.value == pytest.approx(trace.log_prob, abs=1e-4)
    assert close(maps.saliency, trace.saliency)
    assert close(maps.gradient_x_input, trace.gradient_x_input)


def scaled_value(
    lm: LanguageModel, tokens: Tokens, target: Target, foil: Target | None, at: int, factor: float
) -> float:
    """s of a prompt read as ids, with the embedding at one position multiplied by `factor`."""

    def multiply(module: torch.nn.Module, given: object, out: torch.Tensor) -> torch.Tensor:
        factors = torch.ones_like(out)
        factors[:, at] = factor
        return out * factors

    hook = lm.network.embedding.register_forward_hook(multiply)
    try:
        value = handmade.plain_log_prob(lm, tokens.ids, target.ids)
        return value - (handmade.plain_log_prob(lm, tokens.ids, foil.ids) if foil else 0.0)
    finally:
        hook.remove()


@pytest.mark.parametrize("family", ["llama", "llama tied", "gpt2", "gemma", "opt"])
@pytest.mark.parametrize("contrast", [None, " yes", " Rome.", " Paris is two"])
def test_gradient_x_input_is_the_effect_of_a_longer_embedding(family: str, contrast: str | None) -> None:
    """e_t · ∂s/∂e_t = ds/dx at x·e_t, x = 1: five-point differences of a float64 model, through ids.

    transformers' RMSNorms compute in float32 whatever the model's dtype, hence the long step there; OPT's
    ReLU has kinks, hence the short one.
    """
    lm = model(family, double=True)
    tokens, target = asked(lm, TEXT, TARGET)
    foil = None if contrast is None else asked(lm, TEXT, contrast)[1]
    h, effects = (1e-5 if family in ("gpt2", "opt") else 0.01), []
    for t in range(len(tokens)):
        down2, down, up, up2 = (scaled_value(lm, tokens, target, foil, t, 1 + k * h) for k in (-2, -1, 1, 2))
        effects.append((8 * (up - down) - (up2 - down2)) / (12 * h))
    found = gradient_maps(lm, tokens, target, foil).gradient_x_input
    assert np.abs(found - effects).max() <= RELATIVE * np.abs(effects).max()


def test_a_contrast_is_the_difference_of_its_two_sides() -> None:
    lm = model()
    tokens, target = asked(lm, TEXT, TARGET)
    for text in (" yes", " Rome.", " Paris", " Paris is two", " Paris is one."):
        _, foil = asked(lm, TEXT, text)
        maps, one, other = (gradient_maps(lm, tokens, a, b) for a, b in ((target, foil), (target, None), (foil, None)))
        assert maps.value == pytest.approx(one.value - other.value, abs=1e-4)
        assert np.allclose(maps.gradient_x_input, one.gradient_x_input - other.gradient_x_input, atol=1e-4)


def test_it_is_said_where_target_and_foil_diverge() -> None:
    lm = model()
    tokens, target = asked(lm, TEXT, TARGET)
    first = target.ids[0]
    assert gradient_maps(lm, tokens, target).diverges_at is None
    for ids, at in (((first + 1,), 0), ((first, 7), 1), ((first,), 1), ((*target.ids, 7), len(target))):
        assert gradient_maps(lm, tokens, target, target_from_ids(lm.encoder, ids, chosen=True)).diverges_at == at


def test_one_row_is_read_where_one_context_contains_the_other() -> None:
    lm = model()
    tokens, target = asked(lm, TEXT, TARGET)
    _, single = asked(lm, TEXT, FOIL)
    _, longer = asked(lm, TEXT, " Rome. The")
    assert len(gradients.objective(tokens, target, single).tails) == 1
    assert len(gradients.objective(tokens, single, target).tails) == 1
    assert len(gradients.objective(tokens, target, longer).tails) == 2


def test_a_target_against_itself_is_refused_by_name() -> None:
    lm = model()
    tokens, target = asked(lm, TEXT, " Paris")
    for analyse in (gradient_maps, leave_one_out, integrated_gradients):
        with pytest.raises(AttributionError, match=r"' Paris'.*choose another foil"):
            analyse(lm, tokens, target, target)


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma", "opt"])
def test_the_maps_of_the_target_tokens_sum_to_the_whole(family: str) -> None:
    lm = model(family)
    tokens, target = asked(lm, TEXT, " Paris. The capital of Italy")
    parts, whole = per_target_token(lm, tokens, target), gradient_maps(lm, tokens, target)
    assert parts.saliency.shape == parts.gradient_x_input.shape == (len(target), len(tokens))
    assert close(parts.gradient_x_input.sum(axis=0), whole.gradient_x_input)
    assert parts.target_log_probs.sum() == pytest.approx(whole.value, abs=1e-4)
    (log_probs,) = score(lm, [(tokens.ids, target.ids)])
    assert np.allclose(parts.target_log_probs, log_probs, atol=1e-4)
    assert (parts.saliency.sum(axis=0) >= whole.saliency * (1 - RELATIVE)).all()  # the triangle inequality


def test_a_one_token_target_has_one_row() -> None:
    lm = model()
    tokens, target = asked(lm, TEXT, " Paris")
    parts, whole = per_target_token(lm, tokens, target), gradient_maps(lm, tokens, target)
    assert len(target) == 1
    assert np.array_equal(parts.saliency[0], whole.saliency)


def test_a_prompt_of_one_token_has_maps() -> None:
    lm = model()
    tokens, target = asked(lm, "?", " Paris")
    assert np.isfinite(gradient_maps(lm, tokens, target).gradient_x_input).all()
    assert len(tokens) == 1


@pytest.mark.parametrize("family", FAMILIES)
def test_recomputing_the_blocks_changes_nothing(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = model(family)
    tokens, target = asked(lm, TEXT, TARGET)
    _, foil = asked(lm, TEXT, " Rome. The")
    plain = gradient_maps(lm, tokens, target, foil)
    monkeypatch.setattr(gradients, "ACTIVATION_BYTES", 1)
    fractions: list[float] = []
    long = gradient_maps(lm, tokens, target, foil, fractions.append)
    assert close(long.gradient_x_input, plain.gradient_x_input)
    assert len(fractions) > lm.network.layers
    assert all(0 <= fraction <= 1 for fraction in fractions)
    assert all("forward" not in block.__dict__ for block in lm.network.blocks)


@pytest.mark.parametrize("contrast", [False, True])
def test_the_token_that_decides_has_the_largest_positive_score(contrast: bool) -> None:
    lm = handmade.evidence_model({" capital": 0.2, " France": 1.0, " of": -0.5}, " Paris")
    tokens, target = asked(lm, TEXT, " Paris")
    foil = asked(lm, TEXT, " Rome")[1] if contrast else None
    found = {
        "gradient × input": gradient_maps(lm, tokens, target, foil).gradient_x_input,
        "integrated gradients": integrated_gradients(lm, tokens, target, foil).scores,
        "integrated gradients from the mean": integrated_gradients(lm, tokens, target, foil, baseline="mean").scores,
        "deletion": leave_one_out(lm, tokens, target, foil).scores,
        "replacement": leave_one_out(lm, tokens, target, foil, by="replacement").scores,
    }
    for method, scores in found.items():
        assert scores.argmax() == tokens.pieces.index(" France"), method
        assert scores[tokens.pieces.index(" capital")] > 0, method
        assert scores[tokens.pieces.index(" of")] < 0, method


def test_a_linear_model_is_explained_by_its_weights() -> None:
    """Contrast = 8 · mean evidence (the last token has none), so a token's share is 8 · evidence / T."""
    evidence = {" capital": 0.2, " France": 1.0, " of": -0.5}
    lm = handmade.evidence_model(evidence, " Paris")
    tokens, target = asked(lm, TEXT, " Paris")
    _, foil = asked(lm, TEXT, " Rome")
    shares = np.array([8 * evidence.get(piece, 0.0) / len(tokens) for piece in tokens.pieces])
    assert np.allclose(gradient_maps(lm, tokens, target, foil).gradient_x_input, shares, atol=2e-3)
    assert np.allclose(leave_one_out(lm, tokens, target, foil, by="replacement").scores, shares, atol=2e-3)


def test_numbers_that_are_not_finite_are_not_zero() -> None:
    network = tiny.network()
    broken = tiny.tokenizer().convert_tokens_to_ids("<|start|>")
    with torch.no_grad():
        network.get_input_embeddings().weight[broken] = float("nan")
    lm = assemble(network, tiny.tokenizer(), "tiny")
    tokens, target = asked(lm, "<|start|>The capital", " Paris")
    maps = gradient_maps(lm, tokens, target)
    assert np.isnan(maps.value)
    assert np.isnan(maps.saliency).all()
    assert np.isnan(maps.gradient_x_input).all()
    assert np.isnan(per_target_token(lm, tokens, target).gradient_x_input).all()


def test_a_model_without_gradients_says_why() -> None:
    lm = model()
    lm = replace(lm, can=replace(lm.can, no_gradients="4-bit weights do not run backward"))
    tokens, target = asked(lm, TEXT, " Paris")
    for analyse in (gradient_maps, per_target_token, integrated_gradients, fixed_rule):
        with pytest.raises(AttributionError, match="tiny: 4-bit weights do not run backward"):
            analyse(lm, tokens, target)
    assert np.isfinite(leave_one_out(lm, tokens, target).scores).all()


class Stop(Exception):
    """Raised by a report to end a run."""


def parameters(lm: LanguageModel) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in lm.network.model.state_dict().items()}


def hooks(lm: LanguageModel) -> list[tuple[int, int, int]]:
    """How many hooks each module has; transformers itself leaves some after the first pass."""
    return [
        (len(module._forward_hooks), len(module._forward_pre_hooks), len(module._backward_hooks))
        for module in lm.network.model.modules()
    ]


def assert_untouched(
    lm: LanguageModel, before: dict[str, torch.Tensor], hooks_before: list[tuple[int, int, int]]
) -> None:
    after = lm.network.model.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert hooks(lm) == hooks_before
    assert all(not module.training and "forward" not in module.__dict__ for module in lm.network.model.modules())
    assert all(p.grad is None and not p.requires_grad for p in lm.network.model.parameters())


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("name", ANALYSES)
def test_no_analysis_changes_the_model(name: str, long: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if long:
        monkeypatch.setattr(gradients, "ACTIVATION_BYTES", 1)
    lm = model()
    tokens, target = asked(lm, TEXT, TARGET)
    _, foil = asked(lm, TEXT, FOIL)
    before, state, attached = score(lm, [(tokens.ids, target.ids)])[0], parameters(lm), hooks(lm)
    ANALYSES[name](lm, tokens, target, foil, report=lambda fraction: None)
    assert np.array_equal(score(lm, [(tokens.ids, target.ids)])[0], before)
    assert_untouched(lm, state, attached)


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("name", ANALYSES)
def test_a_report_that_raises_stops_the_run(name: str, long: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if long:
        monkeypatch.setattr(gradients, "ACTIVATION_BYTES", 1)
    lm = model()
    tokens, target = asked(lm, TEXT, TARGET)
    _, foil = asked(lm, TEXT, FOIL)
    before, state, attached = score(lm, [(tokens.ids, target.ids)])[0], parameters(lm), hooks(lm)
    fractions: list[float] = []

    def stop(fraction: float) -> None:
        fractions.append(fraction)
        if len(fractions) == 2:
            raise Stop

    with pytest.raises(Stop):
        ANALYSES[name](lm, tokens, target, foil, report=stop)
    assert len(fractions) == 2
    assert not lm.lock.held
    assert np.array_equal(score(lm, [(tokens.ids, target.ids)])[0], before)
    assert_untouched(lm, state, attached)


def test_a_long_prompt_is_stopped_in_its_backward_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradients, "ACTIVATION_BYTES", 1)
    lm = model()
    tokens, target = asked(lm, TEXT, TARGET)
    gradient_maps(lm, tokens, target)
    before, state, attached = score(lm, [(tokens.ids, target.ids)])[0], parameters(lm), hooks(lm)

    def stop(fraction: float) -> None:
        if 0.5 < fraction < 0.9:  # the forward pass is the first third
            raise Stop

    with pytest.raises(Stop):
        gradient_maps(lm, tokens, target, report=stop)
    assert not lm.lock.held
    assert np.array_equal(score(lm, [(tokens.ids, target.ids)])[0], before)
    assert_untouched(lm, state, attached)


@pytest.mark.parametrize("name", ANALYSES)
def test_the_model_runs_under_its_lock_and_reports_come_between(name: str) -> None:
    lm = model()
    tokens, target = asked(lm, TEXT, TARGET)
    _, foil = asked(lm, TEXT, FOIL)
    outside: list[str] = []
    fractions: list[float] = []

    def watch(module: torch.nn.Module, given: object) -> None:
        if not lm.lock.held:
            outside.append(type(module).__name__)

    def report(fraction: float) -> None:
        if lm.lock.held:
            outside.append("report")
        fractions.append(fraction)

    watches = [module.register_forward_pre_hook(watch) for module in lm.network.model.modules()]
    try:
        ANALYSES[name](lm, tokens, target, foil, report=report)
    finally:
        for hook in watches:
            hook.remove()
    assert not outside
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert all(0 <= fraction <= 1 for fraction in fractions)


def test_two_analyses_at_once_give_what_each_gives_alone() -> None:
    lm = model()
    tokens, target = asked(lm, TEXT, TARGET)
    _, foil = asked(lm, TEXT, FOIL)
    given: dict[str, tuple[object, ...]] = {"plain": (lm, tokens, target), "contrast": (lm, tokens, target, foil)}
    alone = {name: integrated_gradients(*arguments).scores for name, arguments in given.items()}
    together: dict[str, np.ndarray] = {}
    threads = [
        threading.Thread(target=lambda name=name: together.update({name: integrated_gradients(*given[name]).scores}))
        for name in given
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(together[name], alone[name]) for name in given)


def test_a_template_and_position_0_are_held() -> None:
    lm = assemble(tiny.network(), tiny.tokenizer(bos=True), "tiny")
    tokens, _ = asked(lm, TEXT, " Paris")
    assert tokens.roles[0] == "added"
    assert held_tokens(tokens) == (True, *(False,) * (len(tokens) - 1))
    chat, _ = asked(lm, TEXT, " Paris", mode="chat", system="Answer with one word")
    held = held_tokens(chat)
    assert held[0]
    assert all(held[t] == (role == "template") for t, role in enumerate(chat.roles) if t)
    assert {"template", "text", "system"} <= set(chat.roles)


def test_rank_correlation_follows_ranks_alone() -> None:
    values = [0.3, -2.0, 5.0, 1.0]
    assert rank_correlation(values, np.exp(values)) == pytest.approx(1.0)
    assert rank_correlation(values, [-value for value in values]) == pytest.approx(-1.0)
    assert rank_correlation([1, 2, 3, 4], [2, 1, 4, 3]) == pytest.approx(0.6)  # 1 − 6·Σd² / (n(n² − 1)), Σd² = 4


def test_rank_correlation_needs_three_different_scores() -> None:
    assert rank_correlation([1, 2], [1, 2]) is None
    assert rank_correlation([1, 2, np.nan], [1, 2, 3]) is None
    assert rank_correlation([1, 1, 1], [1, 2, 3]) is None
    assert rank_correlation([], []) is None
    assert rank_correlation([1, 2, np.nan, 3], [1, 2, -9, 3]) == pytest.approx(1.0)


def left_out(scores: list[float]) -> LeaveOneOut:
    lm = model()
    tokens, target = asked(lm, TEXT, " Paris")
    groups = tuple((t,) for t in range(len(tokens)))
    assert len(scores) == len(tokens)
    return LeaveOneOut(tokens, target, None, "deletion", groups, held_tokens(tokens), 0.0, np.array(scores))


def test_agreement_leaves_held_tokens_out_and_compares_sizes_with_sizes() -> None:
    truth = left_out([99.0, 1.0, -2.0, 3.0, -4.0, 5.0, -6.0])
    found = agreement(truth, saliency=np.array([0, 1, 2, 3, 4, 5, 6]), gradient_x_input=-truth.scores)
    assert found.tokens == 6
    assert found.saliency == pytest.approx(1.0)
    assert found.gradient_x_input == pytest.approx(-1.0)


def test_agreement_is_of_tokens_that_have_both_scores() -> None:
    truth = left_out([99.0, 1.0, np.nan, 3.0, 4.0, 5.0, 6.0])
    found = agreement(truth, np.array([0, 1, 50, 3, 4, 5, np.nan]), np.array([0, 1, 50, 3, 4, 5, np.nan]))
    assert found.tokens == 4
    assert found.gradient_x_input == pytest.approx(1.0)
    with pytest.raises(ValueError, match="per token"):
        agreement(replace(truth, groups=((0, 1),)), truth.scores, truth.scores)


def test_aligned_tokens_of_two_wordings_are_compared() -> None:
    lm = model()
    a, _ = asked(lm, "The capital of France is", " Paris")
    b, _ = asked(lm, "What is the capital of France?", " Paris")
    alignment = token_alignment(a, b)
    first, second = np.arange(len(a)) * 1.0, np.arange(len(b)) * 10.0
    pair = token_effects_pair(first, second, alignment)
    assert pair.pairs == alignment
    assert pair.aligned >= 3
    assert pair.rank_correlation == pytest.approx(1.0)  # both grow with the position, and alignments do not cross
    for (i, j), before, after, change in zip(pair.pairs, pair.reference, pair.variant, pair.change, strict=True):
        assert np.isnan(before) if i is None else before == first[i]
        assert np.isnan(after) if j is None else after == second[j]
        assert np.isnan(change) if i is None or j is None else change == second[j] - first[i]
    same = token_effects_pair(first, first, token_alignment(a, a))
    assert same.aligned == len(a)
    assert not same.change.any()
