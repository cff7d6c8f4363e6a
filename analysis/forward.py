"""Passes through a network: states, the head, and key–value caches of shared prefixes.

The only place that calls transformers' models. Rows are padded on the right: with causal attention
nothing real ever sees the padding, so positions stay natural and no mask is needed.
Everything here runs inside the model's lock (`LanguageModel.lock`); weights are frozen, so a backward
pass computes nothing but what it is asked for.

Shapes: B rows, T tokens, H hidden, L layers (L + 1 states), V vocabulary.
"""

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint
from transformers import DynamicCache


@dataclass(frozen=True, eq=False)
class Network:
    """A causal language model taken apart into decoder and head."""

    model: Any  # transformers' …ForCausalLM
    decoder: Any  # its base model: embeddings in, states out
    embedding: torch.nn.Module  # ids → what `inputs_embeds` takes
    unembedding: torch.nn.Module  # last state → logits, before scale and cap
    logit_scale: float  # logits = cap(scale · W h)
    logit_cap: float | None  # tanh soft-cap, in nats
    blocks: torch.nn.ModuleList
    takes_positions: bool
    cache_name: str  # the decoder's parameter for the key–value cache

    @property
    def device(self) -> torch.device:
        return self.embedding.weight.device  # type: ignore[return-value]

    @property
    def layers(self) -> int:
        return len(self.blocks)

    @property
    def vocabulary(self) -> int:
        """How many ids can be read and predicted; a tokenizer may have fewer, or more."""
        tables: tuple[Any, Any] = (self.embedding, self.unembedding)
        return min(int(table.weight.shape[0]) for table in tables)

    @property
    def cache_token_bytes(self) -> int:
        """Keys and values of one token in all blocks."""
        config = self.model.config.get_text_config()
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        return 2 * self.layers * heads * width * self.embedding.weight.element_size()  # type: ignore[operator]


class UnsupportedModel(ValueError):
    """A network that this project cannot take apart; the message is one sentence."""


def take_apart(model: Any) -> Network:
    """Find decoder, embedding, head and blocks of a transformers causal LM."""
    decoder = model.base_model
    embedding, unembedding = model.get_input_embeddings(), model.get_output_embeddings()
    if decoder is model or embedding is None or unembedding is None:
        raise UnsupportedModel(f"{type(model).__name__} has no separate decoder and LM head")
    config = model.config.get_text_config()
    count = config.num_hidden_layers
    lists = [m for m in decoder.modules() if isinstance(m, torch.nn.ModuleList) and len(m) == count]
    if not lists:
        raise UnsupportedModel(f"{type(model).__name__} has no list of its {count} blocks")
    parameters = inspect.signature(_innermost(decoder.forward)).parameters
    scale = float(getattr(config, "logit_scale", None) or 1.0) / float(getattr(config, "logits_scaling", None) or 1.0)
    return Network(
        model=model,
        decoder=decoder,
        embedding=embedding,
        unembedding=unembedding,
        logit_scale=scale,
        logit_cap=getattr(config, "final_logit_softcapping", None),
        blocks=lists[0],
        takes_positions="position_ids" in parameters,
        cache_name="cache" if "cache" in parameters else "past_key_values",
    )


def _innermost(function: Any) -> Any:
    return inspect.unwrap(function)


def embed(network: Network, ids: torch.Tensor) -> torch.Tensor:
    """Token ids [B, T] → input embeddings [B, T, H]."""
    return network.embedding(ids)


def states(
    network: Network, embeds: torch.Tensor, *, layers: bool = True, use_cache: bool = False, **kwargs: Any
) -> Any:
    """Run the decoder on embeddings [B, T, H]; `.hidden_states` has L + 1 entries, the last after the norm."""
    return network.decoder(
        inputs_embeds=embeds, output_hidden_states=layers, use_cache=use_cache, return_dict=True, **kwargs
    )


def logits(network: Network, hidden: torch.Tensor) -> torch.Tensor:
    """Final states [..., H] → logits [..., V] in float32, on the embeddings' device."""
    out = network.unembedding(hidden).float().to(network.device)
    if network.logit_scale != 1.0:
        out = out * network.logit_scale
    if network.logit_cap:
        out = torch.tanh(out / network.logit_cap) * network.logit_cap
    return out


def all_states(out: Any) -> list[torch.Tensor]:
    """The L + 1 states [B, T, H] of a pass; the last is what the head reads, whatever the model calls it."""
    return [*out.hidden_states[:-1], out.last_hidden_state]


def log_probs(network: Network, hidden: torch.Tensor) -> torch.Tensor:
    """Final states [..., H] → next-token log-probs [..., V] in float32, nats."""
    return torch.log_softmax(logits(network, hidden), dim=-1)


def padded(rows: Sequence[Sequence[int]], device: torch.device, width: int | None = None) -> torch.Tensor:
    """Rows of ids as one tensor [B, T], padded on the right with id 0."""
    width = width or max(len(row) for row in rows)
    return torch.tensor([[*row, *([0] * (width - len(row)))] for row in rows], dtype=torch.long, device=device)


def common_prefix(rows: Sequence[Sequence[int]]) -> int:
    """How many leading ids all rows share (in sorted order the first and last row decide)."""
    first, last = min(map(tuple, rows)), max(map(tuple, rows))
    for index, (a, b) in enumerate(zip(first, last, strict=False)):
        if a != b:
            return index
    return min(len(first), len(last))


@dataclass(frozen=True, eq=False)
class Prefix:
    """Keys and values of rows that were run without gradients.

    Row r stands at `places[r]` of the cache and is valid up to `lengths[r]`.
    """

    cache: DynamicCache
    places: tuple[int, ...]
    lengths: tuple[int, ...]


def prefill(network: Network, rows: Sequence[Sequence[int]]) -> Prefix | None:
    """Run rows of ids without gradients into a cache; what all of them share is run once.

    Rows of like length run together, so that little is padded. None where every row is empty.
    """
    longest = max(len(row) for row in rows)
    if longest == 0:
        return None
    shared = common_prefix(rows) if len(rows) > 1 else 0
    # A short common prefix (BOS, "Question:") is not worth a pass of its own.
    shared = shared if shared * (len(rows) - 1) >= 16 else 0
    start = extend(network, None, [rows[0][:shared]], 0)[0] if shared else None
    full = [index for index in range(len(rows)) if rows[index]]
    groups = [[full[i] for i in group] for group in _alike([len(rows[index]) - shared for index in full])]
    caches = []
    for group in groups:
        cache = expand(start, len(group)) if start is not None else None
        tails = [rows[index][shared:] for index in group]
        if any(tails):
            cache, _ = extend(network, cache, tails, shared)
        assert cache is not None
        caches.append(cache)
    place = {index: place for place, index in enumerate(index for group in groups for index in group)}
    # An empty row reads nothing, so any place serves.
    return Prefix(_stacked(caches), tuple(place.get(i, 0) for i in range(len(rows))), tuple(len(row) for row in rows))


def _alike(lengths: Sequence[int], waste: float = 1.1, enough: int = 192) -> list[list[int]]:
    """Indices in groups whose longest row is at most `waste` times the shortest, if worth a pass of its own."""
    groups: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda i: (lengths[i], i)):
        group = groups[-1] if groups else []
        if group and (lengths[index] <= waste * lengths[group[0]] or lengths[index] * len(group) < enough):
            group.append(index)
        else:
            groups.append([index])
    return groups


def _stacked(caches: Sequence[DynamicCache]) -> DynamicCache:
    """Caches one under the other, padded on the right to one width."""
    if len(caches) == 1:
        return caches[0]
    width = max(cache.layers[0].keys.shape[2] for cache in caches)

    def stack(parts: list[torch.Tensor]) -> torch.Tensor:
        return torch.cat([torch.nn.functional.pad(x, (0, 0, 0, width - x.shape[2])) for x in parts])

    new = DynamicCache()
    for number in range(len(caches[0].layers)):
        layers = [cache.layers[number] for cache in caches]
        new.update(stack([layer.keys for layer in layers]), stack([layer.values for layer in layers]), number)
    return new


def extend(
    network: Network, cache: DynamicCache | None, rows: Sequence[Sequence[int]], past: int
) -> tuple[DynamicCache, torch.Tensor]:
    """Run rows of ids after `past` cached tokens, common to all; final states [B, T, H] come back."""
    with torch.no_grad():
        cache = DynamicCache() if cache is None else cache
        embeds = embed(network, padded(rows, network.device))
        kwargs = (
            positions(network, torch.arange(past, past + embeds.shape[1], device=network.device)[None]) if past else {}
        )
        out = states(network, embeds, layers=False, use_cache=True, **{network.cache_name: cache}, **kwargs)
        return cache, out.last_hidden_state


def positions(network: Network, position_ids: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"position_ids": position_ids} if network.takes_positions else {}


def expand(cache: DynamicCache, rows: int) -> DynamicCache:
    """The same cache for `rows` equal rows; memory is shared until something is appended."""
    return _map(cache, lambda x: x.expand(rows, *x.shape[1:]))


def aligned(prefix: Prefix, sources: Sequence[int], lengths: Sequence[int]) -> tuple[DynamicCache, torch.Tensor]:
    """Rows `sources` of a prefix cut to `lengths` and moved so that all end at the same index.

    Distances between indices are then distances between tokens, which sliding windows need. Keys carry
    their positions already, so moving them changes nothing. Also returns the mask [B, T] of real tokens.
    """
    width = max(lengths)
    start = width - torch.tensor(lengths)  # [B]
    index = torch.arange(width)[None] - start[:, None]  # [B, T]
    mask = (index >= 0).to(prefix.cache.layers[0].keys.device)
    index = index.clamp(min=0)
    row = torch.tensor([prefix.places[source] for source in sources])[:, None]
    # Indices stay on the processor, since the blocks may be on several devices.
    return _map(prefix.cache, lambda x: x.transpose(1, 2)[row, index].transpose(1, 2)), mask


def selected(cache: DynamicCache, rows: Sequence[int]) -> DynamicCache:
    """Some rows of a cache."""
    return _map(cache, lambda x: x[list(rows)])


def after(
    network: Network,
    cache: DynamicCache | None,
    mask: torch.Tensor | None,
    embeds: torch.Tensor,
    lengths: Sequence[int],
    layers: bool = True,
) -> Any:
    """Run embeddings [B, T, H] after an aligned cache whose row r holds `lengths[r]` tokens."""
    if cache is None or mask is None:
        return states(network, embeds, layers=layers)
    new = torch.ones(embeds.shape[:2], dtype=torch.bool, device=mask.device)
    start = torch.tensor(lengths, device=mask.device)[:, None]
    place = positions(network, start + torch.arange(embeds.shape[1], device=mask.device)[None])
    kwargs = {network.cache_name: cache, "attention_mask": torch.cat([mask, new], dim=1).long(), **place}
    return states(network, embeds, layers=layers, use_cache=True, **kwargs)


def _map(cache: DynamicCache, change: Callable[[torch.Tensor], torch.Tensor]) -> DynamicCache:
    new = DynamicCache()
    for number, layer in enumerate(cache.layers):
        new.update(change(layer.keys), change(layer.values), number)
    return new


@contextlib.contextmanager
def watched(network: Network, tick: Callable[[], object], checkpointed: bool) -> Iterator[None]:
    """Call `tick` before every block, and keep only each block's input for the backward pass.

    transformers' own gradient checkpointing needs training mode, which turns on dropout in the shared
    model; the blocks' `forward` is wrapped instead, for as long as the lock is held. `tick` may raise
    to stop the run.
    """

    def wrap(forward: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(forward)
        def run(*args: Any, **kwargs: Any) -> Any:
            tick()
            return forward(*args, **kwargs)

        @functools.wraps(forward)
        def run_checkpointed(*args: Any, **kwargs: Any) -> Any:
            return checkpoint(run, *args, use_reentrant=False, preserve_rng_state=False, **kwargs)

        return run_checkpointed if checkpointed else run

    own = [block.__dict__.get("forward") for block in network.blocks]  # set where weights are spread over devices
    try:
        for block in network.blocks:
            block.forward = wrap(block.forward)
        yield
    finally:
        for block, forward in zip(network.blocks, own, strict=True):
            block.__dict__.pop("forward", None)
            if forward is not None:
                block.__dict__["forward"] = forward
