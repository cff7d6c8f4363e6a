r"""Where the difference between two prompts enters: exchanging the state of the predicting position.

For prompts a, b and one target token, with h_l the state of the position that predicts it,

    P_l = log p(y_k | a, with h_l replaced by that of b) − log p(y_k | a).

All earlier positions stay those of a. P_L = Δ, since the head reads nothing else; P_0 = 0 where the last
tokens agree (and, with learned positions, the lengths). T_l = g_a,l · Δh_l is its first-order estimate.

Two ways lead to the same numbers, both with a's keys and values of the earlier tokens computed once:

- *one sequence*: every state is a position of its own that stands in the last token's place and sees the
  earlier tokens and itself. A state joins where its block begins, so each block runs only what it must.
- *a batch*: every state has a row, with its own copy of the keys and values, or, for a network without a
  usable cache, with the whole prompt. For networks whose blocks need more than one position's worth of
  anything but the mask (ALiBi), and wherever the first way does not reproduce the trace's log-prob.

Activation patching: Vig et al., "Investigating Gender Bias in Language Models Using Causal Mediation
Analysis", NeurIPS 2020; Meng et al., "Locating and Editing Factual Associations in GPT", NeurIPS 2022.

Shapes: N other prompts, L blocks (L + 1 states), B batch, T tokens, R rows in all, H hidden, V vocabulary.
"""

import contextlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from transformers import DynamicCache

from analysis import forward, trace
from analysis.forward import Network
from analysis.model import LanguageModel
from analysis.patching_results import PatchCurve
from analysis.results import Analysis, Trace

Report = Callable[[float], object]
Arguments = dict[str, Any]
Exchange = Callable[[int, torch.Tensor, Arguments], tuple[torch.Tensor, Arguments]]

#: Tokens of the prefix that run between two reports.
PIECE_TOKENS = 256
#: States in one sequence: each also computes, and masks, its weights for all others.
SEQUENCE_ROWS = 256
#: Rows of one batch.
BATCH_ROWS = 64
#: Nats by which a's own log-prob may differ from its trace's: this, or four times the model's noise.
AGREEMENT = 1e-3


class PatchingError(ValueError):
    """States that cannot be exchanged; the message is one sentence."""


class _DoesNotFit(Exception):
    """The network cannot run many states in one sequence, each in the place of the last token."""


@dataclass(frozen=True, eq=False)
class _Reference:
    """What prompt a reads before its target token is predicted."""

    ids: tuple[int, ...]
    wanted: int  # the target token's id
    log_prob: float  # of it, from the trace
    cache: DynamicCache | None  # keys and values of all ids but the last

    @property
    def past(self) -> int:
        return len(self.ids) - 1


def patch_curves(
    lm: LanguageModel,
    a: Trace,
    others: Sequence[Trace],
    report: Report = lambda fraction: None,
    *,
    target: int = 0,
) -> list[PatchCurve]:
    """The patch curve of `a` with the states of each other prompt, for one token of their target.

    `report` gets the share done before every pass; whatever it raises stops the run.
    Errors: PatchingError where the targets differ or have no such token, and where the blocks read more
    of a token than its state.
    """
    for b in others:
        if b.target.ids != a.target.ids:
            raise PatchingError(f"patching needs one target, not {a.target.text!r} and {b.target.text!r}")
    if not 0 <= target < len(a.target):
        raise PatchingError(f"there is no target token {target + 1}: {a.target.text!r} has {len(a.target)}")
    if not others:
        return []
    unique = {b.hidden[target].tobytes(): b.hidden[target] for b in others}
    states = torch.as_tensor(np.stack(list(unique.values())))  # [N, L + 1, H]
    ids = a.tokens.ids + a.target.ids[:target]
    work = len(ids) - 1 + len(states) * lm.network.layers
    cache = None
    if lm.can.no_cache is None:
        cache = _prefix(lm, ids[:-1], lambda tokens: report(tokens / work))
    reference = _Reference(ids, a.target.ids[target], float(a.target_log_probs[target]), cache)
    effects = _effects(lm, reference, states, lambda rows: report((len(ids) - 1 + rows) / work))
    report(1.0)
    found = dict(zip(unique, effects, strict=True))
    return [PatchCurve(target, found[b.hidden[target].tobytes()]) for b in others]


def against_reference(
    lm: LanguageModel, analysis: Analysis, report: Report = lambda fraction: None
) -> dict[tuple[int, int], list[PatchCurve]]:
    """The reference's curves with every prompt of the same target, per target token, by their places (0, b)."""
    a = analysis.reference.trace
    if a is None:
        return {}
    others = {
        place: result.trace
        for place, result in enumerate(analysis.prompts)
        if place and result.trace is not None and result.trace.target.ids == a.target.ids
    }
    found: dict[tuple[int, int], list[PatchCurve]] = {(0, place): [] for place in others}
    for k in range(len(a.target)):

        def within(share: float, k: int = k) -> None:
            report((k + share) / len(a.target))

        for place, curve in zip(others, patch_curves(lm, a, list(others.values()), within, target=k), strict=True):
            found[0, place].append(curve)
    return found


def _prefix(lm: LanguageModel, ids: tuple[int, ...], tick: Report) -> DynamicCache | None:
    """Keys and values of ids, run in pieces; `tick` gets the tokens done before each."""
    cache = None
    for start in range(0, len(ids), PIECE_TOKENS):
        tick(start)
        with lm.lock:
            cache, _ = forward.extend(lm.network, cache, [ids[start : start + PIECE_TOKENS]], start)
    return cache


def _effects(lm: LanguageModel, reference: _Reference, states: torch.Tensor, tick: Report) -> np.ndarray:
    """P_l [N, L + 1] of states [N, L + 1, H]; `tick` gets the states done."""
    found, layers = [], lm.network.layers
    fits = lm.can.no_cache is None
    size = _sequence_rows(lm.network, reference.past) // layers or 1 if fits else len(states)
    for start in range(0, len(states), size):
        part = states[start : start + size]

        def within(rows: float, done: int = start * layers) -> None:
            tick(done + rows)

        within(0)
        if fits:
            try:
                found.append(_in_one_sequence(lm, reference, part))
                continue
            except _DoesNotFit:
                fits = False
        found.append(_in_a_batch(lm, reference, part, within))
    return np.concatenate(found)


def _sequence_rows(network: Network, past: int) -> int:
    """How many states' keys and values, and attention weights of one block, stay within the budget."""
    heads = network.model.config.get_text_config().num_attention_heads
    return min(SEQUENCE_ROWS, trace.CACHE_BYTES // (network.cache_token_bytes + 4 * heads * (past + SEQUENCE_ROWS)))


def _in_one_sequence(lm: LanguageModel, reference: _Reference, states: torch.Tensor) -> np.ndarray:
    """P_l [N, L + 1] from one sequence that grows by N states before every block; a's own stands last.

    Raises _DoesNotFit, also where a's own log-prob is not the trace's: the last position notices when
    positions see one another or are counted.
    """
    network, past, count = lm.network, reference.past, len(states)

    def join(layer: int, state: torch.Tensor, given: Arguments) -> tuple[torch.Tensor, Arguments]:
        rows = count * layer + 1
        if state.shape[:2] != (1, rows) or "attention_mask" not in given:
            raise _DoesNotFit
        mask = _side_by_side(given.pop("attention_mask"), past, rows + count, state)
        if any(size != 1 for tensor in _tensors(list(given.values())) for size in tensor.shape[:-1]):
            raise _DoesNotFit  # something that would have to grow too
        new = states[:, layer].to(state)[None]  # [1, N, H]
        return torch.cat([new, state], dim=1), {**given, "attention_mask": mask}

    # A copy, since keys are appended to it.
    cache = forward.expand(reference.cache, 1) if reference.cache is not None else None
    with lm.lock, torch.no_grad():
        try:
            with _before_blocks(network, join):
                _, last = forward.extend(network, cache, [reference.ids[past:]], past)
        except RuntimeError as error:  # a tensor whose size the network took from its input
            raise _DoesNotFit from error
        last = last.reshape(-1, last.shape[-1])  # of layers L − 1…0, N each, and a's own
        values = _log_probs(network, torch.cat([states[:, -1].to(last), last]), reference.wanted)
    if len(values) != count * (network.layers + 1) + 1:
        raise _DoesNotFit
    if not abs(values[-1] - reference.log_prob) <= max(AGREEMENT, 4 * lm.can.noise_floor):
        raise _DoesNotFit
    return (values[:-1] - values[-1]).reshape(-1, count)[::-1].T


def _side_by_side(mask: Any, past: int, rows: int, like: torch.Tensor) -> torch.Tensor:
    """A mask [1, 1, R, past + R]: each row sees of the past what `mask` lets the last token see, and itself.

    `mask` [1, 1, 1, past + 1] is boolean (True: seen) or added to the logits; None sees everything.
    """
    if mask is None:
        mask = torch.zeros(1, 1, 1, past + 1, dtype=like.dtype, device=like.device)
    if not isinstance(mask, torch.Tensor) or mask.shape != (1, 1, 1, past + 1):
        raise _DoesNotFit
    hidden = False if mask.dtype == torch.bool else torch.finfo(mask.dtype).min
    each_other = torch.full((1, 1, rows, rows), hidden, dtype=mask.dtype, device=mask.device)
    each_other.diagonal(dim1=-2, dim2=-1).copy_(mask[..., -1])
    return torch.cat([mask[..., :past].expand(-1, -1, rows, -1), each_other], dim=-1)


def _in_a_batch(lm: LanguageModel, reference: _Reference, states: torch.Tensor, tick: Report) -> np.ndarray:
    """P_l [N, L + 1] from one row per prompt and layer, some at a time; `tick` gets the rows done."""
    count, layers = len(states), lm.network.layers
    # (layer, prompt): no block exchanges the state of layer L, so the first row is a's own.
    rows = [(layers, 0), *((layer, n) for n in range(count) for layer in range(layers))]
    size = _batch_rows(lm.network, reference)
    values = []
    for start in range(0, len(rows), size):
        tick(start)
        values.append(_batch(lm, reference, states, rows[start : start + size], partial(tick, start)))
    own, *patched = np.concatenate(values)
    with lm.lock, torch.no_grad():
        last = states[:, -1].to(lm.network.embedding.weight)  # type: ignore[arg-type]
        final = _log_probs(lm.network, last, reference.wanted)
    return np.column_stack([np.reshape(patched, (count, layers)), final]) - own


def _batch(
    lm: LanguageModel,
    reference: _Reference,
    states: torch.Tensor,
    rows: list[tuple[int, int]],
    tick: Callable[[], object],
) -> np.ndarray:
    """Log-probs [R] of rows (layer, prompt), in one pass."""

    def exchange(layer: int, state: torch.Tensor, given: Arguments) -> tuple[torch.Tensor, Arguments]:
        here = [row for row, (of, _) in enumerate(rows) if of == layer]
        state = state.clone()
        state[here, -1] = states[[rows[row][1] for row in here], layer].to(state)
        return state, given

    with lm.lock, torch.no_grad():
        with _before_blocks(lm.network, exchange):
            last = _last_states(lm.network, reference, len(rows), tick)
        return _log_probs(lm.network, last, reference.wanted)


def _batch_rows(network: Network, reference: _Reference) -> int:
    tokens = len(reference.ids)
    if reference.cache is None:
        return trace.CHUNK_TOKENS // tokens or 1
    return min(BATCH_ROWS, trace.CACHE_BYTES // (network.cache_token_bytes * tokens)) or 1


def _last_states(network: Network, reference: _Reference, rows: int, tick: Callable[[], object]) -> torch.Tensor:
    """Final states [R, H] of a's last token in equal rows, after copies of the cache or of the whole prompt."""
    if reference.cache is not None:
        cache, tail = forward.expand(reference.cache, rows), reference.ids[reference.past :]
        return forward.extend(network, cache, [tail] * rows, reference.past)[1][:, -1]
    embeds = forward.embed(network, forward.padded([reference.ids] * rows, network.device))
    with forward.watched(network, tick, checkpointed=False):
        return forward.states(network, embeds, layers=False).last_hidden_state[:, -1]


def _log_probs(network: Network, last: torch.Tensor, wanted: int) -> np.ndarray:
    """log p(wanted) [R] from final states [R, H], in nats; the logits [R, V] are made for a few rows at a time."""
    values = [forward.log_probs(network, last[i : i + 128])[:, wanted] for i in range(0, len(last), 128)]
    return torch.cat(values).cpu().double().numpy()


@contextlib.contextmanager
def _before_blocks(network: Network, exchange: Exchange) -> Iterator[None]:
    """Give each block another state, and other arguments, for as long as the lock is held.

    `exchange` gets the layer, the state [B, T, H] and the other arguments by their names.
    """
    with contextlib.ExitStack() as hooks:
        for layer, block in enumerate(network.blocks):

            def before(
                block: torch.nn.Module, args: tuple[Any, ...], kwargs: Arguments, layer: int = layer
            ) -> tuple[tuple[Any, ...], Arguments]:
                names = list(inspect.signature(type(block).forward).parameters)[1:]
                given = {**dict(zip(names, args, strict=False)), **kwargs}
                state = given.pop(names[0])
                _require_one_state(block, state, given)
                state, given = exchange(layer, state, given)
                return (state,), given

            hooks.callback(block.register_forward_pre_hook(before, with_kwargs=True).remove)
        yield


def _require_one_state(block: torch.nn.Module, state: Any, given: Arguments) -> None:
    """Refuse blocks that read something else of each token, such as per-layer inputs."""
    kind = type(block).__name__
    if not isinstance(state, torch.Tensor) or state.ndim != 3:
        raise PatchingError(f"patching is not available: {kind} does not read one state per token")
    for name, value in given.items():
        per_token = isinstance(value, torch.Tensor) and value.ndim == 3 and value.shape[:2] == state.shape[:2]
        if per_token and value.is_floating_point() and not name.startswith("position"):
            raise PatchingError(f"patching is not available: {kind} reads {name} of every token besides its state")


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in nested tuples, lists and dicts."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _tensors(each)
