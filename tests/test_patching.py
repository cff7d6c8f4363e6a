"""A patch curve says what whole passes say, and leaves nothing behind in the model."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import (
    AutoModelForCausalLM,
    BloomConfig,
    Gemma4TextConfig,
    GPTBigCodeConfig,
    GPTNeoConfig,
    MambaConfig,
)

from analysis import forward, patching
from analysis import trace as engine
from analysis.encoding import encode, target_from_ids
from analysis.model import LanguageModel, assemble
from analysis.patching import PatchingError, patch_curves
from analysis.patching_results import PatchCurve
from analysis.prompts import Prompt
from analysis.results import Trace
from analysis.trace import Item, traces
from tests import plain, tiny
from tests.test_sessions import together
from tests.test_trace import Stop, fingerprint, item, random_ids, same_bits, traced

FAMILIES = list(tiny.CONFIGS)
LEARNED_POSITIONS = ("gpt2", "opt")
TARGET = (31, 32, 33)

#: Networks with which one sequence does not fit: biases per head, a window counted inside, sizes taken from the input.
UNUSUAL: dict[str, Callable[[], Any]] = {
    "bloom": lambda: BloomConfig(vocab_size=420, hidden_size=32, n_layer=4, n_head=4),
    "gpt neo": lambda: GPTNeoConfig(
        vocab_size=420, hidden_size=32, num_layers=4, num_heads=4, max_position_embeddings=256,
        attention_types=[[["global", "local"], 2]], window_size=8,
    ),
    "gpt bigcode": lambda: GPTBigCodeConfig(vocab_size=420, n_embd=32, n_layer=4, n_head=4, n_positions=256),
    "mamba": lambda: MambaConfig(vocab_size=420, hidden_size=32, num_hidden_layers=4, state_size=4),
}  # fmt: skip


def unusual(config: Any, scale: float = 8.0) -> LanguageModel:
    torch.manual_seed(0)
    for name in ("bos_token_id", "eos_token_id", "pad_token_id"):
        setattr(config, name, None)
    model = AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(scale)
    return assemble(model.eval(), tiny.tokenizer(), "tiny")


def without_cache(lm: LanguageModel) -> LanguageModel:
    return replace(lm, can=replace(lm.can, no_cache="for this test"))


def prompts(lm: LanguageModel, target: Sequence[int] = TARGET) -> tuple[Trace, list[Trace]]:
    """A reference longer than the sliding windows of 8, and others: shorter, as long, longer, of one token."""
    rows = [random_ids(19, 1), random_ids(9, 2), random_ids(19, 3), random_ids(30, 4), (11,)]
    a, *others = traced(lm, [item(lm, ids, target) for ids in rows])
    return a, others


def effects(lm: LanguageModel, a: Trace, others: Sequence[Trace], target: int = 0) -> np.ndarray:
    curves = patch_curves(lm, a, others, target=target)
    assert all(curve.target == target for curve in curves)
    return np.array([curve.effect for curve in curves])


def by_whole_passes(lm: LanguageModel, a: Trace, b: Trace, target: int) -> np.ndarray:
    """P_l from a pass of transformers' own model over all of a's ids for every layer.

    b's states come from a pass over b's ids that keeps all hidden states; at layer L the head's input
    is exchanged.
    """
    model, given, wanted = lm.network.model, a.target.ids[:target], a.target.ids[target]
    with torch.no_grad():
        read = model(input_ids=torch.tensor([[*b.tokens.ids, *given]]), output_hidden_states=True, use_cache=False)
    states = [state[0, -1] for state in read.hidden_states]

    def log_prob(where: torch.nn.Module | None = None, state: torch.Tensor | None = None) -> float:
        def exchange(module: torch.nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
            changed = args[0].clone()
            changed[0, -1] = state
            return (changed, *args[1:])

        handle = where.register_forward_pre_hook(exchange) if where is not None else None
        try:
            with torch.no_grad():
                logits = model(input_ids=torch.tensor([[*a.tokens.ids, *given]]), use_cache=False).logits[0, -1]
        finally:
            if handle is not None:
                handle.remove()
        return float(torch.log_softmax(logits.float(), dim=-1)[wanted])

    places = [*lm.network.blocks, model.get_output_embeddings()]
    return np.array([log_prob(*both) for both in zip(places, states, strict=True)]) - log_prob()


def assert_whole_passes(lm: LanguageModel, a: Trace, others: Sequence[Trace], target: int) -> None:
    found = effects(lm, a, others, target)
    wanted = np.array([by_whole_passes(lm, a, b, target) for b in others])
    assert np.abs(wanted).max() > 0.01  # something moves
    np.testing.assert_allclose(found, wanted, atol=1e-4, rtol=0)


@pytest.fixture
def in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing fits into one sequence."""

    def refuse(*args: object) -> None:
        raise patching._DoesNotFit

    monkeypatch.setattr(patching, "_in_one_sequence", refuse)


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ways that were finished, in the order of their passes."""
    seen: list[str] = []

    def watch(name: str) -> None:
        way = getattr(patching, name)

        def watched(*args: Any) -> Any:
            found = way(*args)
            seen.append(name)
            return found

        monkeypatch.setattr(patching, name, watched)

    watch("_in_one_sequence")
    watch("_batch")
    return seen


@pytest.mark.parametrize("target", [0, 2])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_layer_equals_a_whole_pass_with_its_state_exchanged(family: str, target: int, ways: list[str]) -> None:
    lm = plain.loaded(family)
    assert_whole_passes(lm, *prompts(lm), target)
    assert ways == ["_in_one_sequence"]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_batch_says_the_same(family: str, in_batches: None, ways: list[str]) -> None:
    lm = plain.loaded(family)
    assert_whole_passes(lm, *prompts(lm), 1)
    assert ways == ["_batch"]


@pytest.mark.parametrize("family", ["llama", "gemma3", "gpt2", "opt"])
def test_a_model_without_a_usable_cache_says_the_same(family: str, ways: list[str]) -> None:
    lm = plain.loaded(family)
    without = without_cache(lm)
    assert_whole_passes(without, *prompts(lm), 1)
    assert ways == ["_batch"]


@pytest.mark.parametrize("name", list(UNUSUAL))
def test_blocks_that_need_more_than_a_mask_run_in_a_batch(name: str, ways: list[str]) -> None:
    lm = unusual(UNUSUAL[name]())
    assert_whole_passes(lm, *prompts(lm), 1)
    assert set(ways) == {"_batch"}


@pytest.mark.parametrize("target", [0, 1])
@pytest.mark.parametrize("family", ["llama", "mistral", "gpt2", "opt", "gpt neox"])
def test_a_reference_of_one_token_has_curves_too(family: str, target: int) -> None:
    lm = plain.loaded(family)
    a, *others = traced(lm, [item(lm, ids, TARGET) for ids in ((9,), (11,), random_ids(12, 1))])
    assert_whole_passes(lm, a, others, target)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_last_layer_gives_the_whole_change(family: str) -> None:
    lm = plain.loaded(family)
    a, others = prompts(lm)
    for k in range(len(TARGET)):
        deltas = [b.target_log_probs[k] - a.target_log_probs[k] for b in others]
        np.testing.assert_allclose(effects(lm, a, others, k)[:, -1], deltas, atol=1e-4, rtol=0)


@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_enters_at_layer_0_where_the_last_tokens_agree(family: str) -> None:
    """With learned positions only where the lengths agree, too. After the first target token they always do."""
    lm = plain.loaded(family)
    lengths = (19,) if family in LEARNED_POSITIONS else (19, 5, 40, 1)
    rows = [(*random_ids(length - 1, length + 1), 77) for length in lengths]
    a, *others = traced(lm, [item(lm, ids, TARGET) for ids in ((*random_ids(18, 1), 77), *rows)])
    for k in range(len(TARGET)):
        found = effects(lm, a, others, k)
        np.testing.assert_allclose(found[:, 0], 0, atol=1e-4)
        assert (np.abs(found[:, -1]) > 1e-3).any()


@pytest.mark.parametrize("family", ["gpt2", "opt"])
def test_a_learned_position_enters_at_layer_0(family: str) -> None:
    lm = plain.loaded(family)
    a, b = traced(lm, [item(lm, (*random_ids(length, length), 77), TARGET) for length in (18, 9)])
    assert abs(effects(lm, a, [b])[0, 0]) > 1e-3


@pytest.mark.parametrize("family", FAMILIES)
def test_a_prompts_own_states_change_nothing(family: str) -> None:
    lm = plain.loaded(family)
    a, _ = prompts(lm)
    for k in range(len(TARGET)):
        np.testing.assert_allclose(effects(lm, a, [a], k), 0, atol=1e-4)


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma3", "gpt neox"])
def test_the_taylor_estimate_is_the_slope_of_the_patch(family: str) -> None:
    """Moving the state a part ε of the way in float64: P_l / T_l tends to 1 as ε does to 0."""
    lm = assemble(tiny.network(family, scale=8.0).double(), tiny.tokenizer(), "tiny")
    a, others = prompts(lm)
    b = others[1]
    for k in (0, 2):
        change = b.hidden[k].astype(np.float64) - a.hidden[k]
        assert a.gradient is not None
        estimate = (a.gradient[k] * change).sum(axis=-1)  # T_l of the whole way
        errors = []
        for step in (1e-2, 1e-3):
            moved = a.hidden.astype(np.float64)
            moved[k] += step * change
            found = effects(lm, a, [replace(b, hidden=moved)], k)[0]
            errors.append(np.abs(found / step - estimate).max())
        size = np.abs(estimate).max()
        assert errors[0] < 0.2 * size
        assert errors[1] < 0.01 * size + 3e-3  # log-probs are float32: 1e-6 nats, over ε


@given(
    cache_bytes=st.sampled_from([1, 20_000, 60_000]),
    piece=st.integers(1, 20),
    rows=st.integers(1, 20),
    family=st.sampled_from(["llama", "mistral", "gpt2", "opt"]),
)
@settings(max_examples=12)
def test_parts_change_nothing(cache_bytes: int, piece: int, rows: int, family: str) -> None:
    lm = plain.loaded(family)
    a, others = prompts(lm)
    whole = effects(lm, a, others, 1)
    with pytest.MonkeyPatch.context() as small:
        small.setattr(engine, "CACHE_BYTES", cache_bytes)
        small.setattr(patching, "PIECE_TOKENS", piece)
        small.setattr(patching, "SEQUENCE_ROWS", rows)
        np.testing.assert_allclose(effects(lm, a, others, 1), whole, atol=1e-5)


@pytest.mark.parametrize(("cache_bytes", "rows"), [(1, 64), (20_000, 64), (400_000_000, 1), (400_000_000, 7)])
def test_parts_of_a_batch_change_nothing(
    cache_bytes: int, rows: int, in_batches: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    lm = plain.loaded("gemma3")
    a, others = prompts(lm)
    whole = effects(lm, a, others, 1)
    monkeypatch.setattr(engine, "CACHE_BYTES", cache_bytes)
    monkeypatch.setattr(engine, "CHUNK_TOKENS", rows)
    monkeypatch.setattr(patching, "BATCH_ROWS", rows)
    np.testing.assert_allclose(effects(lm, a, others, 1), whole, atol=1e-5)
    without = without_cache(lm)
    np.testing.assert_allclose(effects(without, a, others, 1), whole, atol=1e-5)


def test_memory_bounds_what_runs_together(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = plain.loaded()
    network, past, layers = lm.network, 50, lm.network.layers
    budget = 3 * layers * (network.cache_token_bytes + 4 * 4 * (past + patching.SEQUENCE_ROWS))  # three prompts
    monkeypatch.setattr(engine, "CACHE_BYTES", budget)
    assert patching._sequence_rows(network, past) == 3 * layers
    reference = patching._Reference((5,) * 51, 31, 0.0, forward.extend(network, None, [(5,) * 50], 0)[0])
    monkeypatch.setattr(engine, "CACHE_BYTES", 10 * 51 * network.cache_token_bytes)
    assert patching._batch_rows(network, reference) == 10


def test_equal_states_are_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = plain.loaded()
    a, others = prompts(lm)
    seen: list[int] = []
    head = patching._log_probs

    def counted(network: forward.Network, last: torch.Tensor, wanted: int) -> np.ndarray:
        seen.append(len(last))
        return head(network, last, wanted)

    monkeypatch.setattr(patching, "_log_probs", counted)
    once = patch_curves(lm, a, others[:2])
    twice = patch_curves(lm, a, [others[0], others[1], others[0], others[1]])
    assert seen == [2 * 5 + 1] * 2
    assert [curve.effect.tolist() for curve in twice] == [curve.effect.tolist() for curve in once] * 2


def test_curves_come_in_the_order_of_the_prompts() -> None:
    lm = plain.loaded("qwen2")
    a, others = prompts(lm)
    forth, back = effects(lm, a, others), effects(lm, a, others[::-1])
    np.testing.assert_allclose(forth, back[::-1], atol=1e-5)
    assert len({round(float(effect[-1]), 4) for effect in forth}) == len(others)


def test_without_other_prompts_nothing_runs(ways: list[str]) -> None:
    lm = plain.loaded()
    assert patch_curves(lm, prompts(lm)[0], []) == []
    assert ways == []


@pytest.mark.parametrize("cached", [True, False])
def test_sessions_get_bit_for_bit_what_they_get_alone(cached: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others trace, in passes that wrap the blocks, or patch between the parts."""
    lm = plain.loaded("gemma3")
    a, others = prompts(lm)
    patched = lm if cached else without_cache(lm)
    monkeypatch.setattr(engine, "ACTIVATION_BYTES", 1000)
    monkeypatch.setattr(engine, "CHUNK_TOKENS", 8)
    monkeypatch.setattr(patching, "PIECE_TOKENS", 3)
    monkeypatch.setattr(patching, "SEQUENCE_ROWS", 4)

    def curves(target: int) -> list[bytes]:
        return [curve.effect.tobytes() for curve in patch_curves(patched, a, others, target=target)]

    def tracing(seed: int) -> list[bytes]:
        found = traced(lm, [item(lm, random_ids(n + 3, seed + n), TARGET[: 1 + n % 2]) for n in range(4)])
        return [trace.hidden.tobytes() + trace.gradient.tobytes() for trace in found]  # type: ignore[union-attr]

    tasks = [partial(curves, 0), partial(tracing, 10), partial(curves, 2), partial(tracing, 20)]
    alone = [task() for task in tasks]
    assert together(tasks) == alone


@pytest.mark.parametrize("error", [Stop, RuntimeError])
@pytest.mark.parametrize("way", ["in one sequence", "in a batch", "without a cache"])
def test_a_stopped_run_leaves_nothing_behind(
    error: type[BaseException], way: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """At every report in turn: in the prefix, between the parts, and inside whole passes."""
    lm = plain.loaded("gpt2")
    if way == "in a batch":
        request.getfixturevalue("in_batches")
    patched = without_cache(lm) if way == "without a cache" else lm
    monkeypatch.setattr(patching, "PIECE_TOKENS", 5)
    monkeypatch.setattr(patching, "SEQUENCE_ROWS", 4)
    monkeypatch.setattr(patching, "BATCH_ROWS", 3)
    a, others = prompts(lm)
    clean, calls = fingerprint(lm), []  # type: tuple[object, ...], list[float]
    before = [curve.effect.tobytes() for curve in patch_curves(patched, a, others, calls.append)]
    assert len(calls) > 4
    for last in range(len(calls)):
        left = iter(range(last))

        def report(fraction: float, left: Any = left) -> None:
            if next(left, None) is None:
                raise error

        with pytest.raises(error):
            patch_curves(patched, a, others, report)
        assert not lm.lock.held
        assert not any(block._forward_pre_hooks or "forward" in block.__dict__ for block in lm.network.blocks)
    assert fingerprint(lm) == clean
    assert [curve.effect.tobytes() for curve in patch_curves(patched, a, others)] == before
    again, _ = prompts(lm)
    assert same_bits(a, again)


@pytest.mark.parametrize("cached", [True, False])
def test_an_error_inside_a_pass_leaves_nothing_behind(cached: bool) -> None:
    lm = assemble(tiny.network(scale=8.0), tiny.tokenizer(), "tiny")
    patched = lm if cached else without_cache(lm)
    a, others = prompts(lm)

    def fail(module: object, args: object) -> None:
        raise ArithmeticError

    clean = fingerprint(lm)
    handle = lm.network.blocks[2].mlp.register_forward_pre_hook(fail)
    with pytest.raises(ArithmeticError):
        patch_curves(patched, a, others)
    handle.remove()
    assert not lm.lock.held
    assert fingerprint(lm) == clean


@pytest.mark.parametrize("way", ["in one sequence", "in a batch", "without a cache"])
def test_a_block_with_a_forward_of_its_own_keeps_it(way: str, request: pytest.FixtureRequest) -> None:
    """Where weights are spread over devices, blocks have one that moves tensors."""
    lm = assemble(tiny.network(scale=8.0), tiny.tokenizer(), "tiny")
    if way == "in a batch":
        request.getfixturevalue("in_batches")
    patched = without_cache(lm) if way == "without a cache" else lm
    a, others = prompts(lm)
    block, calls = lm.network.blocks[1], []

    def own(*args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        return type(block).forward(block, *args, **kwargs)

    block.forward = own
    assert_whole_passes(patched, a, others, 1)
    assert block.forward is own
    calls.clear()
    patch_curves(patched, a, others)
    assert calls


@pytest.mark.parametrize("cached", [True, False])
def test_progress_rises_from_nothing_to_all(cached: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = plain.loaded()
    patched = lm if cached else without_cache(lm)
    a, others = prompts(lm)
    monkeypatch.setattr(patching, "PIECE_TOKENS", 4)
    monkeypatch.setattr(patching, "SEQUENCE_ROWS", 4)
    seen: list[float] = []
    patch_curves(patched, a, others, seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    assert 0 <= seen[0] < 0.6
    # Pieces of the 18 earlier tokens, prompts one by one, and the end; or before every block of whole passes.
    assert len(seen) == 5 + 4 + 1 if cached else len(seen) > lm.network.layers


def test_a_fallback_goes_on_where_the_sequence_stopped() -> None:
    lm = unusual(UNUSUAL["bloom"]())
    a, others = prompts(lm)
    seen: list[float] = []
    patch_curves(lm, a, others, seen.append)
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == (0.0, 1.0)


def test_another_target_is_refused() -> None:
    lm = plain.loaded()
    a, others = prompts(lm)
    other = traced(lm, [item(lm, random_ids(9, 2), TARGET[:2])])[0]
    with pytest.raises(PatchingError, match="patching needs one target, not "):
        patch_curves(lm, a, [*others, other])
    assert issubclass(PatchingError, ValueError)


@pytest.mark.parametrize("target", [-1, 3])
def test_a_target_token_that_does_not_exist_is_refused(target: int) -> None:
    lm = plain.loaded()
    with pytest.raises(PatchingError, match=f"there is no target token {target + 1}: .* has 3"):
        patch_curves(lm, *prompts(lm), target=target)


@pytest.mark.parametrize("cached", [True, False])
def test_blocks_with_per_layer_inputs_are_refused(cached: bool) -> None:
    lm = unusual(
        Gemma4TextConfig(
            **tiny._SIZE, head_dim=8, global_head_dim=8, vocab_size_per_layer_input=420, hidden_size_per_layer_input=8,
            num_kv_shared_layers=0, sliding_window=8, layer_types=["sliding_attention", "full_attention"] * 2,
        )
    )  # fmt: skip
    a, others = prompts(lm)
    patched = lm if cached else without_cache(lm)
    clean = fingerprint(lm)
    with pytest.raises(PatchingError, match="reads per_layer_input of every token besides its state"):
        patch_curves(patched, a, others)
    assert fingerprint(lm) == clean


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("family", ["llama", "gemma3", "gpt2"])
def test_half_precision_is_near_the_exact_curve(family: str, dtype: torch.dtype) -> None:
    exact, lm = plain.loaded(family), tiny.network(family, scale=8.0).to(dtype)
    half = assemble(lm, tiny.tokenizer(), "tiny", dtype=dtype)
    np.testing.assert_allclose(effects(half, *prompts(half)), effects(exact, *prompts(exact)), atol=0.3)


def test_the_jump_is_the_largest_step() -> None:
    curve = PatchCurve(0, np.array([0.0, 0.25, -2.0, -1.5, -1.0]))
    assert (curve.jump, curve.step) == (1, -2.25)


STORY = (
    "You are a careful assistant that answers questions about geography. Read the whole question before you answer, "
    "and give the name of one city only, without any explanation, punctuation or other words around it. "
    "{} The country lies in the west of Europe, between the Atlantic and the Alps. Answer: the capital city is"
)
QUESTIONS = (
    "What is the capital of France?",
    "Which city is the capital of France?",
    "France is a country; which of its cities is the seat of its government and parliament?",
    "Name the French capital, please.",
    "What's the capital of france",
    "I would like to know from which city France is governed today.",
    "CAPITAL OF FRANCE = ?",
    "Tell me the capital of France, and remember that Lyon and Marseille are not the capital.",
    "Where do the president and the ministers of France work?",
)


def test_on_the_default_model_the_last_layer_gives_the_whole_change(default_lm: LanguageModel) -> None:
    lm = default_lm
    target = target_from_ids(lm.encoder, tuple(lm.encoder.full.encode(" Paris", add_special_tokens=False).ids), True)
    items = [Item(encode(lm.encoder, Prompt(STORY.format(question))), target) for question in QUESTIONS]
    assert all(len(each.tokens) >= 60 for each in items)
    found = traces(lm, items, attributions=False)
    a, *others = (trace for trace in found if isinstance(trace, Trace))
    assert len(others) == 8
    curves = effects(lm, a, others)
    np.testing.assert_allclose(curves[:, -1], [b.log_prob - a.log_prob for b in others], atol=1e-4)
    np.testing.assert_allclose(curves[:, 0], 0, atol=1e-4)  # all end in " is"
    np.testing.assert_allclose(effects(lm, a, [a]), 0, atol=1e-4)
    wanted = by_whole_passes(lm, a, others[2], 0)
    np.testing.assert_allclose(curves[2], wanted, atol=1e-4)
