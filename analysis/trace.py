"""The engine: a batched pass that gives everything cheap about a list of prompts.

Two passes, chosen by what is asked for:

- *last-token*: all but the last token runs without gradients into a key–value cache (what the prompts
  of a chunk share is run once), and only the last token is differentiated. Gives log-probs, and states
  and gradients of every layer at the positions that predict the target.
- *attributions*: one forward and one backward pass over all tokens. Gives, besides, the scores of every
  token, and for a one-token target the states and gradients too.

Equal prompts are computed once, prompts are sorted by length into chunks, and each result is kept in a
bounded cache under the prompt's and the target's token ids: an edited paraphrase costs one prompt.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from analysis import forward
from analysis.forward import Network
from analysis.lru import Lru
from analysis.model import LanguageModel
from analysis.results import Note, Target, Tokens, Trace

Report = Callable[[float], object]

#: Activations kept for one backward pass; longer prompts are run with recomputation instead.
ACTIVATION_BYTES = 1_600_000_000
#: Keys, values and states kept by one pass without gradients.
CACHE_BYTES = 400_000_000
#: Tokens in one chunk: enough to keep the processor busy, few enough that a waiting session is served.
CHUNK_TOKENS = 1024
CACHE_LIMIT_BYTES = 400_000_000


@dataclass(frozen=True)
class Item:
    """One prompt with the target whose log-prob is traced."""

    tokens: Tokens
    target: Target

    @property
    def key(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return self.tokens.ids, self.target.ids

    @property
    def read(self) -> tuple[int, ...]:
        """The ids that the model reads: all but the target's last token, which is only predicted."""
        return self.tokens.ids + self.target.ids[:-1]


class TraceCache:
    """Traces by content, bounded by their bytes; shared by all sessions of a model."""

    def __init__(self, limit_bytes: int = CACHE_LIMIT_BYTES) -> None:
        self._traces: Lru[tuple[object, ...], Trace] = Lru(limit_bytes, _bytes)

    def get(self, item: Item, attributions: bool) -> Trace | None:
        """The trace of equal ids, under the item's own text and target."""
        trace = self._traces.get(item.key)
        if trace is None or (attributions and trace.saliency is None):
            return None
        return replace(trace, tokens=item.tokens, target=item.target)

    def put(self, item: Item, trace: Trace) -> None:
        old = self._traces.get(item.key)
        if old is None or old.saliency is None:
            self._traces.put(item.key, trace)


def _bytes(trace: Trace) -> int:
    arrays = (trace.next_log_probs, trace.hidden, trace.gradient, trace.saliency, trace.gradient_x_input)
    return sum(array.nbytes for array in arrays if array is not None) + 200 * len(trace.tokens)


def traces(
    lm: LanguageModel,
    items: Sequence[Item],
    *,
    attributions: bool = True,
    cache: TraceCache | None = None,
    report: Report = lambda fraction: None,
) -> list[Trace | Note]:
    """The trace of every item, in order; a row that cannot be computed is a Note that says why.

    `report` is called with the share done between chunks, and inside a long prompt between blocks;
    whatever it raises stops the run.
    """
    found: dict[tuple[object, ...], Trace | Note] = {}
    todo: dict[tuple[object, ...], Item] = {}
    for item in items:
        known = cache.get(item, attributions and lm.can.no_gradients is None) if cache else None
        if known is None:
            todo.setdefault(item.key, item)
        else:
            found[item.key] = known
    total, done = sum(len(item.read) for item in todo.values()), 0
    for chunk in _chunks(lm.network, list(todo.values()), attributions):
        size = sum(len(item.read) for item in chunk)

        def tick(fraction: float, done: int = done, size: int = size) -> None:
            report((done + fraction * size) / total)

        tick(0.0)
        for item, trace in zip(chunk, _run(lm, chunk, attributions, tick), strict=True):
            found[item.key] = trace
            if cache and isinstance(trace, Trace):
                cache.put(item, trace)
        done += size
    if total:
        report(1.0)
    return [_named(found[item.key], item) for item in items]


def _named(result: Trace | Note, item: Item) -> Trace | Note:
    return result if isinstance(result, Note) else replace(result, tokens=item.tokens, target=item.target)


def token_bytes(network: Network) -> int:
    """Activations that one token keeps for the backward pass, estimated from the sizes of the blocks."""
    config = network.model.config.get_text_config()
    hidden = config.hidden_size
    inner = getattr(config, "intermediate_size", None) or getattr(config, "ffn_dim", None) or 4 * hidden
    inner = inner if isinstance(inner, int) else max(inner)  # some configurations give one per block
    return network.layers * (16 * hidden + 5 * inner) * network.embedding.weight.element_size()  # type: ignore[operator]


def _chunks(network: Network, items: list[Item], attributions: bool) -> Iterable[list[Item]]:
    """Items of like length and like target, so that little is padded and few passes are needed."""
    per_token = token_bytes(network)
    budget = max(1, min(CHUNK_TOKENS, ACTIVATION_BYTES // per_token))
    if not attributions:
        budget = 2 * CHUNK_TOKENS  # nothing but keys and values is kept
    # Logits, their log-softmax and the gradients of both, in float32.
    predictions = max(1, ACTIVATION_BYTES // (16 * network.vocabulary))
    chunk: list[Item] = []
    for item in sorted(items, key=lambda item: (len(item.target) > 1, len(item.read), item.read)):
        full = (len(chunk) + 1) * len(item.read) > budget
        full |= attributions and sum(len(i.target) for i in (*chunk, item)) > predictions
        if chunk and (full or (len(chunk[0].target) > 1) != (len(item.target) > 1)):
            yield chunk
            chunk = []
        chunk.append(item)
    if chunk:
        yield chunk


def _run(lm: LanguageModel, items: list[Item], attributions: bool, tick: Report) -> list[Trace | Note]:
    """Trace one chunk under the lock."""
    scores: list[_Scores] | None = None
    with lm.lock:
        if attributions and lm.can.no_gradients is None:
            single = len(items[0].target) == 1
            scores, places = _attributions(lm.network, items, with_states=single, tick=tick)
            if not single:
                places = _places(lm, items, tick)
        else:
            places = _places(lm, items, tick)
    results: list[Trace | Note] = []
    for row, item in enumerate(items):
        trace = Trace(
            tokens=item.tokens,
            target=item.target,
            target_log_probs=np.array([place.log_prob for place in places[row]], dtype=np.float32),
            next_log_probs=places[row][0].next_log_probs,
            hidden=np.stack([place.hidden for place in places[row]]),
            gradient=None if lm.can.no_gradients else np.stack([place.gradient for place in places[row]]),
            saliency=scores[row].saliency if scores else None,
            gradient_x_input=scores[row].gradient_x_input if scores else None,
        )
        finite = all(
            bool(np.isfinite(array).all())
            for array in (
                trace.target_log_probs,
                trace.hidden,
                trace.gradient,
                trace.saliency,
                trace.gradient_x_input,
            )
            if array is not None
        )
        results.append(trace if finite else Note("error", "could not compute: the model returned NaN or infinity"))
    return results


@dataclass(frozen=True, eq=False)
class _Scores:
    saliency: np.ndarray
    gradient_x_input: np.ndarray


@dataclass(frozen=True, eq=False)
class _Place:
    """What one predicting position says: log p(y_k), the distribution, states and gradients by layer."""

    log_prob: float
    next_log_probs: np.ndarray
    hidden: np.ndarray
    gradient: np.ndarray


def _attributions(
    network: Network, items: list[Item], with_states: bool, tick: Report
) -> tuple[list[_Scores], list[list[_Place]]]:
    """One forward and backward pass over whole prompts [B, T]; each row's score is its target's log-prob."""
    rows = [item.read for item in items]
    embeds = forward.embed(network, forward.padded(rows, network.device)).detach().requires_grad_(True)
    row, place, wanted = _predictions(items)
    long = embeds.shape[0] * embeds.shape[1] * token_bytes(network) > 1.2 * ACTIVATION_BYTES
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1
        # A forward pass, then, in a long run, per block its recomputation with the backward pass, which takes
        # twice as long; a short run's backward pass is one step.
        done = steps if steps <= network.layers else 2 * steps - network.layers
        tick(min(1.0, done / (3 * network.layers)))

    with torch.enable_grad(), forward.watched(network, step, checkpointed=long):
        out = forward.states(network, embeds, layers=with_states)
        log_probs = forward.log_probs(network, out.last_hidden_state[row, place])  # [Σ targets, V]
        chosen = log_probs.gather(1, wanted[:, None].to(network.device))[:, 0]
        layers = forward.all_states(out) if with_states else []
        gradients = torch.autograd.grad(chosen.sum(), [embeds, *layers])
    with torch.no_grad():
        toward = gradients[0].float()
        saliency, product = toward.norm(dim=-1).cpu().numpy(), (toward * embeds.float()).sum(-1).cpu().numpy()
    scores = [_Scores(saliency[r, : len(item.tokens)], product[r, : len(item.tokens)]) for r, item in enumerate(items)]
    if not with_states:
        return scores, []
    hidden, gradient = (_stacked([x[row, place] for x in xs]) for xs in (layers, gradients[1:]))
    distribution, picked = log_probs.detach().cpu().numpy(), chosen.detach().cpu().numpy()
    return scores, [
        [_Place(float(picked[r]), distribution[r].copy(), hidden[r], gradient[r])] for r in range(len(items))
    ]


def _stacked(layers: Sequence[torch.Tensor]) -> np.ndarray:
    """One tensor [B, H] per layer, wherever it is, as an array [B, layer, H]."""
    return torch.stack([layer.detach().float().cpu() for layer in layers], dim=1).numpy()


def _predictions(items: list[Item]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """For every target token of every row: its row, the position that predicts it, and its id."""
    flat = [
        (row, len(item.tokens) - 1 + k, index)
        for row, item in enumerate(items)
        for k, index in enumerate(item.target.ids)
    ]
    row, place, wanted = torch.tensor(flat).T
    return row, place, wanted


def _places(lm: LanguageModel, items: list[Item], tick: Report) -> list[list[_Place]]:
    """The last-token pass at every predicting position of every item."""
    flat = [(row, k) for row, item in enumerate(items) for k in range(len(item.target))]
    lengths = [len(items[row].tokens) - 1 + k for row, k in flat]
    ends = [items[row].read[length] for (row, _), length in zip(flat, lengths, strict=True)]
    wanted = [items[row].target.ids[k] for row, k in flat]
    if lm.can.no_cache is not None:
        return _places_without_cache(lm, items, tick)
    network = lm.network
    prefix = forward.prefill(network, [item.read[:-1] for item in items])
    tick(0.9)
    found: list[_Place] = []
    for part in _parts(lengths, network):
        cache, mask = None, None
        if prefix is not None and max(lengths[i] for i in part):
            cache, mask = forward.aligned(prefix, [flat[i][0] for i in part], [lengths[i] for i in part])
        embeds = forward.embed(network, torch.tensor([[ends[i]] for i in part], device=network.device)).detach()
        with torch.set_grad_enabled(lm.can.no_gradients is None):
            out = forward.after(
                network, cache, mask, embeds.requires_grad_(lm.can.no_gradients is None), [lengths[i] for i in part]
            )
            log_probs = forward.log_probs(network, out.last_hidden_state[:, -1])
            chosen = log_probs.gather(1, torch.tensor([[wanted[i]] for i in part], device=network.device))[:, 0]
            layers = forward.all_states(out)
            gradients = torch.autograd.grad(chosen.sum(), layers) if lm.can.no_gradients is None else layers
        hidden, gradient = (_stacked([x[:, -1] for x in xs]) for xs in (layers, gradients))
        distribution, picked = log_probs.detach().cpu().numpy(), chosen.detach().cpu().numpy()
        for r, i in enumerate(part):
            first = distribution[r].copy() if flat[i][1] == 0 else np.empty(0, np.float32)
            found.append(_Place(float(picked[r]), first, hidden[r], gradient[r]))
    return _by_item(items, found)


def _parts(lengths: list[int], network: Network) -> Iterable[list[int]]:
    """Rows of the last-token step in groups whose copied caches stay within the budget."""
    size = max(1, CACHE_BYTES // (network.cache_token_bytes * (max(lengths) + 1)))
    size = min(size, 64)
    for start in range(0, len(lengths), size):
        yield list(range(start, min(start + size, len(lengths))))


def _places_without_cache(lm: LanguageModel, items: list[Item], tick: Report) -> list[list[_Place]]:
    """The same from full passes, one row per target token, for networks without a usable cache."""
    found: list[_Place] = []
    for item in items:
        for k, index in enumerate(item.target.ids):
            read = item.tokens.ids + item.target.ids[:k]
            embeds = forward.embed(lm.network, forward.padded([read], lm.network.device)).detach()
            with torch.set_grad_enabled(lm.can.no_gradients is None):
                out = forward.states(lm.network, embeds.requires_grad_(lm.can.no_gradients is None))
                log_probs = forward.log_probs(lm.network, out.last_hidden_state[0, -1])
                layers = forward.all_states(out)
                same = lm.can.no_gradients is not None
                gradients = layers if same else torch.autograd.grad(log_probs[index], layers)
            hidden, gradient = (_stacked([x[:, -1] for x in xs])[0] for xs in (layers, gradients))
            distribution = log_probs.detach().cpu().numpy()
            first = distribution if k == 0 else np.empty(0, np.float32)
            found.append(_Place(float(distribution[index]), first, hidden, gradient))
        tick(0.9)
    return _by_item(items, found)


def _by_item(items: list[Item], places: list[_Place]) -> list[list[_Place]]:
    grouped, at = [], 0
    for item in items:
        grouped.append(places[at : at + len(item.target)])
        at += len(item.target)
    return grouped
