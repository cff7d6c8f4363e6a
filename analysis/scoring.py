"""Log-probs of many continuations after many contexts, without gradients.

One primitive serves candidates, leave-one-out, deletion curves, edits and N × N response matrices: rows
are sorted so that those with a long common beginning meet in one chunk, which runs that beginning once.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from transformers import DynamicCache

from analysis import forward
from analysis.forward import Network
from analysis.lru import Lru
from analysis.model import LanguageModel
from analysis.trace import CACHE_BYTES, CHUNK_TOKENS

Report = Callable[[float], object]
Ids = tuple[int, ...]

MAX_ROWS = 64

#: Log-probs by (context, continuation).
ScoreCache = Lru[tuple[Ids, Ids], np.ndarray]


def score(
    lm: LanguageModel,
    rows: Sequence[tuple[Ids, Ids]],
    report: Report = lambda fraction: None,
    *,
    cache: ScoreCache | None = None,
    fast: bool = True,
) -> list[np.ndarray]:
    """Teacher-forced log-probs [target] of each (context, continuation), in nats, in the rows' order.

    A context has at least one token. Equal rows are computed once. With `fast` False every row is run
    whole, which is the slow way that the fast one is tested against.
    """
    for context, continuation in rows:
        if not context or not continuation:
            raise ValueError("a context and its continuation need at least one token each")
    shared = fast and lm.can.no_cache is None
    found = {row: values for row in rows if cache is not None and (values := cache.get(row)) is not None}
    unique = sorted(set(rows) - set(found), key=lambda row: row[0] + row[1])
    for number, chunk in enumerate(chunks := _chunks(unique, shared)):
        report(number / len(chunks))
        with lm.lock, torch.no_grad():
            for row, values in zip(chunk, _chunk_scores(lm, chunk, shared), strict=True):
                found[row] = values
                if cache is not None:
                    cache.put(row, values)
    report(1.0)
    return [found[row] for row in rows]


def _read(row: tuple[Ids, Ids]) -> Ids:
    return row[0] + row[1][:-1]


def _chunks(rows: list[tuple[Ids, Ids]], shared: bool) -> list[list[tuple[Ids, Ids]]]:
    """Cut sorted rows where sharing one more row would cost more than starting anew."""
    chunks: list[list[tuple[Ids, Ids]]] = []
    for row in rows:
        chunk = chunks[-1] if chunks else []
        if chunk and len(chunk) < MAX_ROWS:
            both = [*chunk, row]
            common = _common(both) if shared else 0
            width = max(len(_read(r)) for r in both) - common
            before = _common(chunk) if shared else 0
            # Joining shortens what the chunk shares: its rows run `lost` more tokens each.
            lost = (before - common) * len(chunk) if len(chunk) > 1 else 0
            if width * len(both) <= CHUNK_TOKENS and lost <= len(_read(row)):
                chunk.append(row)
                continue
        chunks.append([row])
    return chunks


def _common(rows: list[tuple[Ids, Ids]]) -> int:
    """Tokens of context that the rows share, short of each row's last context token."""
    if len(rows) == 1:
        return 0
    return min(forward.common_prefix([_read(row) for row in rows]), min(len(row[0]) for row in rows) - 1)


def _states(
    lm: LanguageModel, rows: list[tuple[Ids, Ids]], shared: bool
) -> Iterator[tuple[list[tuple[Ids, Ids]], torch.Tensor]]:
    """A chunk's final states [Σ target, H] at the predicting positions, in parts whose caches fit.

    The rows' common beginning is run once.
    """
    network = lm.network
    common = _common(rows) if shared else 0
    prefix = forward.extend(network, None, [rows[0][0][:common]], 0)[0] if common else None
    longest = max(len(_read(row)) for row in rows)
    size = max(1, CACHE_BYTES // (network.cache_token_bytes * longest)) if common else len(rows)
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        yield part, _part_states(network, part, prefix, common)


def _part_states(
    network: Network, rows: list[tuple[Ids, Ids]], prefix: DynamicCache | None, common: int
) -> torch.Tensor:
    """The same for rows that begin with the `common` tokens of `prefix`."""
    if prefix is not None:
        cache = forward.expand(prefix, len(rows))
        _, last = forward.extend(network, cache, [_read(row)[common:] for row in rows], common)
    else:
        embeds = forward.embed(network, forward.padded([_read(row) for row in rows], network.device))
        last = forward.states(network, embeds, layers=False, use_cache=False).last_hidden_state
    flat = [
        (r, len(context) - 1 - common + k)
        for r, (context, continuation) in enumerate(rows)
        for k in range(len(continuation))
    ]
    row, place = torch.tensor(flat).T
    return last[row, place]


def _chunk_scores(lm: LanguageModel, rows: list[tuple[Ids, Ids]], shared: bool) -> list[np.ndarray]:
    """Log-probs [target] of every row of a chunk."""
    found: list[np.ndarray] = []
    for part, states in _states(lm, rows, shared):
        wanted = torch.tensor([index for _, continuation in part for index in continuation])[:, None]
        # The head's logits [rows, V] are the largest tensor here: a few hundred rows at a time.
        picked = [
            forward.log_probs(lm.network, states[i : i + 256]).gather(1, wanted[i : i + 256].to(lm.network.device))
            for i in range(0, len(states), 256)
        ]
        values = torch.cat(picked)[:, 0].cpu().numpy()
        ends = np.cumsum([len(continuation) for _, continuation in part])
        found += [split.copy() for split in np.split(values, ends[:-1])]  # not views that keep the whole alive
    return found


@dataclass(frozen=True, eq=False)
class Ending:
    """What the end of one prompt says, without gradients."""

    log_probs: np.ndarray  # [target], nats, teacher-forced
    next_log_probs: np.ndarray  # [vocab], nats, after the prompt
    state: np.ndarray  # [hidden], what the head reads at the prompt's last token


def endings(
    lm: LanguageModel, rows: Sequence[tuple[Ids, Ids]], report: Report = lambda fraction: None
) -> Iterator[tuple[int, Ending]]:
    """The end of every (prompt, target), each with its place in `rows`, chunk by chunk.

    Distributions are large, so they come one chunk at a time, to be reduced and dropped. Each row is run
    once, and as for `score` what a chunk's rows share is run once.
    """
    shared = lm.can.no_cache is None
    places: dict[tuple[Ids, Ids], list[int]] = {}
    for place, row in enumerate(rows):
        places.setdefault(row, []).append(place)
    chunks = _chunks(sorted(places, key=lambda row: row[0] + row[1]), shared)
    for number, chunk in enumerate(chunks):
        report(number / len(chunks))
        with lm.lock, torch.no_grad():
            found = [
                (row, ending)
                for part, states in _states(lm, chunk, shared)
                for row, ending in zip(part, _endings(lm.network, part, states), strict=True)
            ]
        yield from ((place, ending) for row, ending in found for place in places[row])
    report(1.0)


def _endings(network: Network, rows: list[tuple[Ids, Ids]], states: torch.Tensor) -> Iterator[Ending]:
    lengths = [len(continuation) for _, continuation in rows]
    wanted = torch.tensor([index for _, continuation in rows for index in continuation], device=network.device)
    first = np.cumsum([0, *lengths[:-1]]).tolist()
    log_probs = [forward.log_probs(network, states[i : i + 64]) for i in range(0, len(states), 64)]
    picked = torch.cat([part.gather(1, own[:, None]) for part, own in zip(log_probs, wanted.split(64), strict=True)])
    for start, length in zip(first, lengths, strict=True):
        yield Ending(
            log_probs=picked[start : start + length, 0].cpu().numpy().copy(),
            next_log_probs=log_probs[start // 64][start % 64].cpu().numpy().copy(),
            state=states[start].float().cpu().numpy().copy(),
        )
