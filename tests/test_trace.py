"""The engine says what transformers says one prompt at a time, whatever it is asked together."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import forward
from analysis import trace as engine
from analysis.encoding import target_from_ids
from analysis.model import LanguageModel, assemble
from analysis.results import Note, Tokens, Trace
from analysis.trace import Item, TraceCache, traces
from tests import plain, tiny

FAMILIES = list(tiny.CONFIGS)
SHARED = tuple(range(40, 70))  # as long as a chat template with its system prompt


def tokens_of(ids: Sequence[int], text: str = "") -> Tokens:
    """Tokens of given ids; the engine reads nothing else of them."""
    return Tokens(text, tuple(ids), ("",) * len(ids), ((0, 0),) * len(ids), ("text",) * len(ids), (False,) * len(ids))


def item(lm: LanguageModel, ids: Sequence[int], target: Sequence[int], text: str = "") -> Item:
    return Item(tokens_of(ids, text), target_from_ids(lm.encoder, tuple(target), chosen=True))


def random_ids(length: int, seed: int) -> tuple[int, ...]:
    return tuple(np.random.default_rng(seed).integers(4, 400, length).tolist())


def varied_items(lm: LanguageModel) -> list[Item]:
    """One token, a few, more than the sliding window of 8, common beginnings; targets of one and of several."""
    return [
        item(lm, (9,), (30,)),
        item(lm, random_ids(5, 1), (31,)),
        item(lm, (9,), (30, 5, 17)),
        item(lm, random_ids(23, 2), (33, 34)),
        item(lm, random_ids(41, 3), (12,)),
        item(lm, (*SHARED, *random_ids(4, 4)), (13,)),
        item(lm, SHARED, (13, 14, 15, 16)),
        item(lm, random_ids(12, 6), (33, 34, 35)),
    ]


def traced(lm: LanguageModel, items: Sequence[Item], **how: Any) -> list[Trace]:
    found = traces(lm, items, **how)
    assert all(isinstance(trace, Trace) for trace in found), found
    return found  # type: ignore[return-value]


@cache
def oracle(lm: LanguageModel, prompt: tuple[int, ...], target: tuple[int, ...]) -> plain.Plain:
    return plain.trace(lm.network.model, prompt, target)


def close(value: np.ndarray | None, wanted: np.ndarray, relative: float) -> bool:
    """Whether the arrays differ by at most `relative` of the largest number in the right one."""
    assert value is not None
    assert value.shape == wanted.shape
    return bool(np.abs(value - wanted).max() <= relative * np.abs(wanted).max() + 1e-6)


def assert_plain(lm: LanguageModel, found: Sequence[Trace], attributions: bool) -> None:
    """Every trace has the values of plain passes over its own prompt."""
    for trace in found:
        want = oracle(lm, trace.tokens.ids, trace.target.ids)
        np.testing.assert_allclose(trace.target_log_probs, want.log_probs, atol=1e-4, rtol=0)
        np.testing.assert_allclose(trace.next_log_probs, want.next_log_probs, atol=1e-4, rtol=0)
        for layer in range(want.hidden.shape[1]):
            assert close(trace.hidden[:, layer], want.hidden[:, layer], 1e-4)
            assert trace.gradient is not None
            assert close(trace.gradient[:, layer], want.gradient[:, layer], 1e-3)
        if attributions:
            assert close(trace.saliency, want.saliency, 1e-3)
            assert close(trace.gradient_x_input, want.gradient_x_input, 1e-3)
        else:
            assert trace.saliency is trace.gradient_x_input is None


def same_bits(a: Trace, b: Trace) -> bool:
    """Whether every array of two traces is equal to the last bit."""
    names = ("target_log_probs", "next_log_probs", "hidden", "gradient", "saliency", "gradient_x_input")
    pairs = [(getattr(a, name), getattr(b, name)) for name in names]
    return all(x is y or (x is not None and y is not None and np.array_equal(x, y)) for x, y in pairs)


def fingerprint(lm: LanguageModel) -> tuple[object, ...]:
    """All that an analysis could leave behind on a model."""
    model = lm.network.model
    weights = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        weights.update(name.encode() + tensor.cpu().numpy().tobytes())
    modules = [
        (name, module.training, sorted(module.__dict__), *(len(getattr(module, hooks)) for hooks in HOOKS))
        for name, module in model.named_modules()
    ]
    gradients = [(parameter.requires_grad, parameter.grad is None) for parameter in model.parameters()]
    return weights.hexdigest(), repr(modules), repr(gradients), repr(model.config.to_dict())


HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The shape [B, T] of every pass through a network, as they happen."""
    plain.loaded()  # the self-test has passes of its own
    seen: list[tuple[int, int]] = []
    states = forward.states

    def counted(network: forward.Network, embeds: torch.Tensor, **kwargs: Any) -> Any:
        seen.append(tuple(embeds.shape[:2]))
        return states(network, embeds, **kwargs)

    monkeypatch.setattr(forward, "states", counted)
    return seen


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Budgets so small that every prompt counts as long and is its own chunk."""
    monkeypatch.setattr(engine, "ACTIVATION_BYTES", 1000)
    monkeypatch.setattr(engine, "CHUNK_TOKENS", 8)
    monkeypatch.setattr(engine, "CACHE_BYTES", 1000)


@pytest.mark.parametrize("attributions", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
def test_traces_equal_plain_passes(family: str, attributions: bool) -> None:
    lm = plain.loaded(family)
    assert_plain(lm, traced(lm, varied_items(lm), attributions=attributions), attributions)


@pytest.mark.parametrize("attributions", [True, False])
@given(order=st.permutations(range(8)), count=st.integers(1, 8))
@settings(max_examples=4)
def test_company_and_order_change_nothing(attributions: bool, order: list[int], count: int) -> None:
    lm = plain.loaded("mistral")
    items = [varied_items(lm)[place] for place in order[:count]]
    together = traced(lm, items, attributions=attributions)
    for one, trace in zip(items, together, strict=True):
        alone = traced(lm, [one], attributions=attributions)[0]
        assert trace.tokens is one.tokens
        np.testing.assert_allclose(trace.target_log_probs, alone.target_log_probs, atol=1e-4, rtol=0)
        assert close(trace.hidden, alone.hidden, 1e-4)
        assert close(trace.gradient, alone.gradient, 1e-3)  # type: ignore[arg-type]


def test_the_two_modes_agree() -> None:
    lm = plain.loaded("gemma3")
    both = zip(traced(lm, varied_items(lm)), traced(lm, varied_items(lm), attributions=False), strict=True)
    for whole, last in both:
        np.testing.assert_allclose(whole.target_log_probs, last.target_log_probs, atol=1e-4, rtol=0)
        assert close(whole.gradient, last.gradient, 1e-3)  # type: ignore[arg-type]


def test_the_last_gradient_is_the_target_row_of_the_head_less_the_expected_row() -> None:
    lm = plain.loaded("granite")
    head = lm.network.logit_scale * lm.network.unembedding.weight.detach().numpy()
    for trace in traced(lm, [item(lm, random_ids(7, 1), (31,)), item(lm, random_ids(9, 2), (31, 32))]):
        probabilities = np.exp(trace.next_log_probs)
        assert trace.gradient is not None
        assert close(trace.gradient[0, -1], head[trace.target.ids[0]] - probabilities @ head, 1e-4)


def test_gradients_predict_what_a_small_push_of_a_state_does() -> None:
    """∂ log p / ∂h_l by central differences of passes in which block l reads h_l + ε d at the last token."""
    network = tiny.network("gpt2", scale=8.0).double()
    lm = assemble(network, tiny.tokenizer(), "tiny")
    ids, target = random_ids(11, 3), 31
    trace = traced(lm, [item(lm, ids, (target,))])[0]
    direction = torch.tensor(np.random.default_rng(0).normal(size=32))

    def pushed(layer: int, step: float) -> float:
        def push(module: object, args: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
            moved = args[0].clone()
            moved[0, -1] += step * direction
            return (moved, *args[1:])

        handle = network.transformer.h[layer].register_forward_pre_hook(push)
        try:
            with torch.no_grad():
                logits = network(input_ids=torch.tensor([ids])).logits[0, -1]
        finally:
            handle.remove()
        return float(torch.log_softmax(logits, dim=-1)[target])

    for layer in range(4):
        slope = (pushed(layer, 1e-4) - pushed(layer, -1e-4)) / 2e-4
        assert trace.gradient is not None
        assert float(trace.gradient[0, layer] @ direction.numpy()) == pytest.approx(slope, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("attributions", [True, False])
def test_equal_prompts_are_run_once(attributions: bool, passes: list[tuple[int, int]]) -> None:
    lm = plain.loaded()
    one = item(lm, random_ids(6, 1), (31,), "one")
    traced(lm, [one], attributions=attributions)
    alone = list(passes)
    passes.clear()
    found = traced(lm, [one, item(lm, one.tokens.ids, (31,), "other"), one], attributions=attributions)
    assert passes == alone
    assert [trace.tokens.text for trace in found] == ["one", "other", "one"]
    assert same_bits(found[0], found[1])
    assert found[0].log_prob - found[1].log_prob == 0


def test_a_common_beginning_is_read_once_in_the_last_token_mode(passes: list[tuple[int, int]]) -> None:
    lm = plain.loaded()
    traced(lm, [item(lm, (*SHARED, *random_ids(4, n)), (13,)) for n in range(6)], attributions=False)
    assert sum(rows * width for rows, width in passes) <= len(SHARED) + 6 * 4


def test_no_items_make_no_traces() -> None:
    assert traces(plain.loaded(), []) == []


@pytest.mark.parametrize("family", FAMILIES)
def test_long_prompts_give_what_short_ones_give(family: str, little_memory: None) -> None:
    lm = plain.loaded(family)
    items = varied_items(lm)[1:5]
    assert_plain(lm, traced(lm, items), True)
    assert_plain(lm, traced(lm, items, attributions=False), False)


def test_a_long_prompt_reports_inside_its_passes(little_memory: None) -> None:
    lm = plain.loaded()
    seen: list[float] = []
    traced(lm, [item(lm, random_ids(40, 1), (31,))], report=seen.append)
    assert len(seen) >= 2 * lm.network.layers  # in the forward pass and in the recomputation
    assert seen == sorted(seen)
    assert seen[0] == 0.0
    assert seen[-1] == 1.0
    assert all(0 <= share <= 1 for share in seen)


@given(st.lists(st.sampled_from(range(8)), min_size=1, max_size=8), st.booleans())
@settings(max_examples=6)
def test_progress_rises_from_nothing_to_all(places: list[int], attributions: bool) -> None:
    lm = plain.loaded()
    items = varied_items(lm)
    seen: list[float] = []
    traced(lm, [items[place] for place in places], attributions=attributions, report=seen.append)
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == (0.0, 1.0)


class Stop(BaseException):
    """As Streamlit's: no Exception, so that nothing catches it by accident."""


@pytest.mark.parametrize("error", [Stop, RuntimeError])
@pytest.mark.parametrize("attributions", [True, False])
def test_a_report_that_raises_stops_the_run_and_leaves_nothing_behind(
    error: type[BaseException], attributions: bool, little_memory: None
) -> None:
    """At every call in turn: before a chunk, in a forward pass, and in the recomputation of a backward pass."""
    lm = plain.loaded()
    items = [item(lm, random_ids(9, 1), (31,)), item(lm, random_ids(5, 2), (31, 32))]
    calls: list[float] = []
    before = traced(lm, items, attributions=attributions, report=calls.append)
    clean = fingerprint(lm)
    for last in range(len(calls)):
        left = iter(range(last))

        def report(fraction: float, left: Any = left) -> None:
            if next(left, None) is None:
                raise error

        with pytest.raises(error):
            traces(lm, items, attributions=attributions, report=report)
        assert not lm.lock.held
        assert not any("forward" in block.__dict__ for block in lm.network.blocks)
    assert fingerprint(lm) == clean
    after = traced(lm, items, attributions=attributions)
    assert all(same_bits(a, b) for a, b in zip(before, after, strict=True))


def test_a_block_with_a_forward_of_its_own_keeps_it(little_memory: None) -> None:
    """Where weights are spread over devices, blocks have one that moves tensors."""
    lm = assemble(tiny.network(scale=8.0), tiny.tokenizer(), "tiny")
    block = lm.network.blocks[1]
    calls = []

    def own(*args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        return type(block).forward(block, *args, **kwargs)

    block.forward = own
    assert_plain(lm, traced(lm, [item(lm, random_ids(20, 1), (31,))]), True)
    assert block.forward is own
    assert calls


@pytest.mark.parametrize("family", ["llama tied", "gemma2", "gpt2", "opt"])
def test_an_analysis_changes_nothing_in_the_model(family: str) -> None:
    lm = assemble(tiny.network(family), tiny.tokenizer(), "tiny")
    ids = torch.tensor([random_ids(9, 1)])
    with torch.no_grad():
        before, clean = lm.network.model(input_ids=ids).logits, fingerprint(lm)
        traced(lm, varied_items(lm))
        traced(lm, varied_items(lm), attributions=False)
        assert torch.equal(lm.network.model(input_ids=ids).logits, before)
    assert fingerprint(lm) == clean
    assert not any(parameter.requires_grad for parameter in lm.network.model.parameters())
    assert not any(module.training for module in lm.network.model.modules())


@pytest.mark.parametrize("attributions", [True, False])
def test_a_prompt_that_gives_nan_is_a_note_and_its_neighbours_keep_their_results(attributions: bool) -> None:
    network = tiny.network(scale=8.0)
    with torch.no_grad():
        network.get_input_embeddings().weight[7] = float("nan")
    lm = assemble(network, tiny.tokenizer(), "tiny")
    good = [item(lm, random_ids(8, n), (31,)) for n in range(3)]
    bad = item(lm, (11, 7, 12), (31,))
    found = traces(lm, [*good, bad], attributions=attributions)
    assert found[3] == Note("error", "could not compute: the model returned NaN or infinity")
    assert_plain(lm, [trace for trace in found[:3] if isinstance(trace, Trace)], attributions)
    assert sum(isinstance(trace, Trace) for trace in found) == 3


@pytest.mark.parametrize("attributions", [True, False])
def test_a_model_without_a_usable_cache_gives_the_same(attributions: bool, passes: list[tuple[int, int]]) -> None:
    lm = plain.loaded("gpt2")
    passes.clear()
    without = replace(lm, can=replace(lm.can, no_cache="for this test"))
    assert_plain(lm, traced(without, varied_items(lm)[:6], attributions=attributions), attributions)
    assert min(width for _, width in passes) == 1  # the prompt of one token
    assert sum(width == 1 for _, width in passes) <= 3  # none of them a step on a cache


def test_a_model_without_gradients_gives_all_the_rest() -> None:
    lm = plain.loaded()
    without = replace(lm, can=replace(lm.can, no_gradients="for this test"))
    for trace in traced(without, varied_items(lm)):
        want = plain.trace(lm.network.model, trace.tokens.ids, trace.target.ids)
        np.testing.assert_allclose(trace.target_log_probs, want.log_probs, atol=1e-4, rtol=0)
        assert close(trace.hidden, want.hidden, 1e-4)
        assert trace.gradient is trace.saliency is trace.gradient_x_input is None


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_gives_float32_arrays_near_the_exact_ones(dtype: torch.dtype) -> None:
    exact, lm = plain.loaded(), assemble(tiny.network(scale=8.0).to(dtype), tiny.tokenizer(), "tiny", dtype=dtype)
    items = varied_items(lm)[:5]
    for trace, want in zip(traced(lm, items), traced(exact, items), strict=True):
        for name in ("target_log_probs", "next_log_probs", "hidden", "gradient", "saliency", "gradient_x_input"):
            assert getattr(trace, name).dtype == np.float32
        np.testing.assert_allclose(trace.target_log_probs, want.target_log_probs, atol=0.2)


def test_an_edited_prompt_costs_one_prompt(passes: list[tuple[int, int]]) -> None:
    lm, kept = plain.loaded(), TraceCache()
    items = [item(lm, random_ids(8, n), (31,)) for n in range(8)]
    traced(lm, items, cache=kept)
    passes.clear()
    edited = [*items[:3], item(lm, random_ids(8, 99), (31,)), *items[4:]]
    found = traced(lm, edited, cache=kept)
    assert passes == [(1, 8)]
    assert_plain(lm, found, True)


def test_equal_ids_under_other_texts_keep_their_own_text(passes: list[tuple[int, int]]) -> None:
    lm, kept = plain.loaded(), TraceCache()
    first = item(lm, random_ids(8, 1), (31,), "first")
    second = Item(tokens_of(first.tokens.ids, "second"), replace(first.target, text="as typed", chosen=False))
    traced(lm, [first], cache=kept)
    passes.clear()
    found = traced(lm, [second], cache=kept)[0]
    assert passes == []
    assert (found.tokens, found.target) == (second.tokens, second.target)
    assert traced(lm, [first], cache=kept)[0].tokens.text == "first"


def test_a_trace_without_attributions_is_made_again_with_them_and_then_serves_both(
    passes: list[tuple[int, int]],
) -> None:
    lm, kept = plain.loaded(), TraceCache()
    one = item(lm, random_ids(8, 1), (31,))
    assert traced(lm, [one], attributions=False, cache=kept)[0].saliency is None
    assert traced(lm, [one], attributions=True, cache=kept)[0].saliency is not None
    passes.clear()
    assert traced(lm, [one], attributions=False, cache=kept)[0].saliency is not None
    assert traced(lm, [one], attributions=True, cache=kept)[0].saliency is not None
    assert passes == []


def test_other_targets_after_one_prompt_are_other_entries() -> None:
    lm, kept = plain.loaded(), TraceCache()
    ids = random_ids(8, 1)
    found = [traced(lm, [item(lm, ids, target)], cache=kept)[0] for target in ((31,), (32,), (31, 32))]
    assert_plain(lm, found, True)


def test_the_cache_keeps_to_its_bytes(passes: list[tuple[int, int]]) -> None:
    lm = plain.loaded()
    items = [item(lm, random_ids(8, n), (31,)) for n in range(6)]
    one = traced(lm, items[:1])[0]
    kept = TraceCache(limit_bytes=3 * engine._bytes(one))
    for each in items:
        traced(lm, [each], cache=kept)
    passes.clear()
    for place in (5, 4, 3, 0):
        traced(lm, [items[place]], cache=kept)
    assert len(passes) == 1  # the last three are still there
    arrays = (one.next_log_probs, one.hidden, one.gradient, one.saliency, one.gradient_x_input)
    assert engine._bytes(one) >= sum(array.nbytes for array in arrays if array is not None)


def test_a_stopped_run_keeps_the_chunks_that_were_done(passes: list[tuple[int, int]], little_memory: None) -> None:
    lm, kept = plain.loaded(), TraceCache()
    items = [item(lm, random_ids(8 + n, n), (31,)) for n in range(4)]
    stopper: Callable[[float], None] = lambda share: (_ for _ in ()).throw(Stop) if share >= 0.5 else None  # noqa: E731
    with pytest.raises(Stop):
        traces(lm, items, cache=kept, report=stopper)
    passes.clear()
    traced(lm, items, cache=kept)
    assert 0 < len(passes) < 4


def test_many_targets_of_many_tokens_stay_within_the_budget_of_the_head(
    monkeypatch: pytest.MonkeyPatch, passes: list[tuple[int, int]]
) -> None:
    lm = plain.loaded()
    monkeypatch.setattr(engine, "ACTIVATION_BYTES", max(16 * 420 * 10, 40 * engine.token_bytes(lm.network)))
    rows = [item(lm, (9 + n,), tuple(range(20, 30))) for n in range(5)]
    wide: list[int] = []
    log_probs = forward.log_probs

    def watched(network: forward.Network, hidden: torch.Tensor) -> torch.Tensor:
        wide.append(hidden[..., 0].numel())
        return log_probs(network, hidden)

    monkeypatch.setattr(forward, "log_probs", watched)
    traced(lm, rows)
    allowed = engine.ACTIVATION_BYTES // (16 * 420)
    assert max(wide) <= max(64, allowed)
