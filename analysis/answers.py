"""How a model continues a prompt: greedily, or by any other choice of tokens; batched and cancellable."""

from collections.abc import Callable, Iterator, Sequence

import torch
from transformers import DynamicCache

from analysis import forward
from analysis.continuation import token_names
from analysis.forward import Network
from analysis.lru import Lru
from analysis.model import LanguageModel
from analysis.results import Answer
from analysis.trace import CACHE_BYTES, CHUNK_TOKENS

Report = Callable[[float], object]
Ids = tuple[int, ...]
MAX_PROMPTS = 16
MAX_ROWS = 32

#: A continuation that is being made: the prompt's ids, and which of its copies.
Copy = tuple[Ids, int]

#: Chooses the next token of each copy from the next-token log-probs [copy, V].
Pick = Callable[[Sequence[Copy], torch.Tensor], list[int]]

#: Answers by prompt ids and length limit.
AnswerCache = Lru[tuple[Ids, int], Answer]


def answers(
    lm: LanguageModel,
    prompts: Sequence[Ids],
    tokens: int,
    *,
    cache: AnswerCache | None = None,
    report: Report = lambda fraction: None,
) -> list[Answer]:
    """The greedy continuation of every prompt by at most `tokens` tokens, an end token included.

    `report` is called before every step, and whatever it raises stops the run.
    """
    found = {prompt: None if cache is None else cache.get((prompt, tokens)) for prompt in prompts}
    todo = [prompt for prompt, answer in found.items() if answer is None]
    for prompt, (answer,) in continued(lm, todo, tokens, _likeliest, report=report):
        found[prompt] = answer
        if cache is not None:
            cache.put((prompt, tokens), answer)
    made = [found[prompt] for prompt in prompts]
    return [answer for answer in made if answer is not None]


def _likeliest(copies: Sequence[Copy], log_probs: torch.Tensor) -> list[int]:
    return log_probs.argmax(dim=-1).tolist()


def continued(
    lm: LanguageModel,
    prompts: Sequence[Ids],
    tokens: int,
    pick: Pick,
    *,
    copies: int = 1,
    report: Report = lambda fraction: None,
) -> Iterator[tuple[Ids, list[Answer]]]:
    """Each different prompt with its `copies` continuations, as they get ready.

    A prompt is read once for all its copies. `report` is called before every step, and whatever it raises
    stops the run.
    """
    chunks = _chunks(sorted(set(prompts), key=lambda ids: (len(ids), ids)))
    for number, chunk in enumerate(chunks):

        def tick(fraction: float, number: int = number) -> None:
            report((number + fraction) / len(chunks))

        go_on = _continue if lm.can.no_cache is None else _continue_without_cache
        rows = [(prompt, copy) for prompt in chunk for copy in range(copies)]
        made = go_on(lm, rows, tokens, pick, tick)
        for place, prompt in enumerate(chunk):
            yield prompt, [_answer(lm, steps) for steps in made[place * copies : (place + 1) * copies]]


def _chunks(prompts: list[Ids]) -> list[list[Ids]]:
    chunks: list[list[Ids]] = []
    for prompt in prompts:
        if chunks and len(chunks[-1]) < MAX_PROMPTS and (len(chunks[-1]) + 1) * len(prompt) <= CHUNK_TOKENS:
            chunks[-1].append(prompt)
        else:
            chunks.append([prompt])
    return chunks


Steps = list[tuple[int, float]]  # (id, its log-prob in nats)


def _continue(lm: LanguageModel, rows: list[Copy], tokens: int, pick: Pick, tick: Report) -> list[Steps]:
    """Steps on a key–value cache; the lock is free between them."""
    network = lm.network
    prompts = list(dict.fromkeys(prompt for prompt, _ in rows))
    place = {prompt: number for number, prompt in enumerate(prompts)}
    lengths = [len(prompt) - 1 for prompt in prompts]
    tick(0.0)
    with lm.lock, torch.no_grad():
        prefix = forward.prefill(network, [prompt[:-1] for prompt in prompts])
        cache, mask = forward.aligned(prefix, range(len(prompts)), lengths) if prefix else (None, None)
    made: list[Steps] = [[] for _ in rows]
    fitting = CACHE_BYTES // (network.cache_token_bytes * (max(lengths) + tokens))
    size = max(1, min(MAX_ROWS, fitting))
    parts = [range(len(rows))[start : start + size] for start in range(0, len(rows), size)]
    tick(1 / (1 + tokens * len(parts)))
    with lm.lock, torch.no_grad():
        start = _read(network, cache, mask, [prompt[-1] for prompt in prompts], lengths)
    for number, part in enumerate(parts):
        live = list(part)  # rows of the cache, which shrinks as answers end
        with lm.lock, torch.no_grad():
            cache, mask, log_probs = _rows(start, [place[rows[row][0]] for row in live])
        for step in range(1, tokens + 1):
            with lm.lock, torch.no_grad():
                ids = pick([rows[row] for row in live], log_probs)
                values = log_probs[range(len(ids)), ids].tolist()
                for row, index, value in zip(live, ids, values, strict=True):
                    made[row].append((index, value))
                keep = [i for i, index in enumerate(ids) if index not in lm.encoder.end_ids]
            if not keep or step == tokens:
                break
            tick((1 + number * tokens + step) / (1 + tokens * len(parts)))
            with lm.lock, torch.no_grad():
                if len(keep) < len(live):
                    live, ids = [live[i] for i in keep], [ids[i] for i in keep]
                    cache, mask = forward.selected(cache, keep), mask[keep]
                past = [lengths[place[rows[row][0]]] + step for row in live]
                cache, mask, log_probs = _read(network, cache, mask, ids, past)
    return made


#: Keys and values, the mask [row, T] of real tokens, and the next-token log-probs [row, V] of some rows.
Read = tuple[DynamicCache, torch.Tensor, torch.Tensor]


def _read(
    network: Network, cache: DynamicCache | None, mask: torch.Tensor | None, ids: list[int], past: list[int]
) -> Read:
    """Run one more token per row, which stands after `past` tokens."""
    if cache is None or mask is None:
        cache, last = forward.extend(network, None, [[index] for index in ids], 0)
        mask = torch.zeros((len(ids), 0), dtype=torch.bool, device=network.device)
    else:
        embeds = forward.embed(network, torch.tensor(ids, device=network.device)[:, None])
        last = forward.after(network, cache, mask, embeds, past, layers=False).last_hidden_state
    mask = torch.cat([mask, torch.ones((len(ids), 1), dtype=torch.bool, device=mask.device)], dim=1)
    return cache, mask, forward.log_probs(network, last[:, -1])


def _rows(read: Read, places: list[int]) -> Read:
    cache, mask, log_probs = read
    if places == list(range(len(mask))):
        return read
    return forward.selected(cache, places), mask[places], log_probs[places]


def _continue_without_cache(lm: LanguageModel, rows: list[Copy], tokens: int, pick: Pick, tick: Report) -> list[Steps]:
    made: list[Steps] = []
    for number, row in enumerate(rows):
        steps: Steps = []
        while len(steps) < tokens and (not steps or steps[-1][0] not in lm.encoder.end_ids):
            tick((number + len(steps) / tokens) / len(rows))
            with lm.lock, torch.no_grad():
                ids = forward.padded([[*row[0], *(index for index, _ in steps)]], lm.network.device)
                last = forward.states(lm.network, forward.embed(lm.network, ids), layers=False, use_cache=False)
                log_probs = forward.log_probs(lm.network, last.last_hidden_state[:, -1])
                (index,) = pick([row], log_probs)
                steps.append((index, float(log_probs[0, index])))
        made.append(steps)
    return made


def _answer(lm: LanguageModel, steps: Steps) -> Answer:
    ids = tuple(index for index, _ in steps)
    finished = ids[-1] in lm.encoder.end_ids
    return Answer(
        text=lm.encoder.decode(ids[:-1] if finished else ids),
        ids=ids,
        pieces=tuple(lm.encoder.piece(index) for index in ids),
        log_probs=tuple(value for _, value in steps),
        finished=finished,
        names=token_names(lm.encoder.decode, ids),
    )
