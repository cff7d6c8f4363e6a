"""The answer that the model would give: greedy continuations, batched, cancellable, cached per prompt."""

from collections.abc import Callable, Sequence

import torch

from analysis import forward
from analysis.continuation import token_names
from analysis.lru import Lru
from analysis.model import LanguageModel
from analysis.results import Answer
from analysis.trace import CHUNK_TOKENS

Report = Callable[[float], object]
Ids = tuple[int, ...]
MAX_ROWS = 16


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
    todo = sorted((prompt for prompt, answer in found.items() if answer is None), key=lambda ids: (len(ids), ids))
    chunks = _chunks(todo)
    for number, chunk in enumerate(chunks):

        def tick(fraction: float, number: int = number) -> None:
            report((number + fraction) / len(chunks))

        generate = _continue if lm.can.no_cache is None else _continue_without_cache
        for prompt, answer in zip(chunk, generate(lm, chunk, tokens, tick), strict=True):
            found[prompt] = answer
            if cache is not None:
                cache.put((prompt, tokens), answer)
    made = [found[prompt] for prompt in prompts]
    return [answer for answer in made if answer is not None]


def _chunks(prompts: list[Ids]) -> list[list[Ids]]:
    chunks: list[list[Ids]] = []
    for prompt in prompts:
        if chunks and len(chunks[-1]) < MAX_ROWS and (len(chunks[-1]) + 1) * len(prompt) <= CHUNK_TOKENS:
            chunks[-1].append(prompt)
        else:
            chunks.append([prompt])
    return chunks


def _continue(lm: LanguageModel, prompts: list[Ids], tokens: int, tick: Report) -> list[Answer]:
    """Greedy steps on a key–value cache; the lock is free between steps."""
    network = lm.network
    tick(0.0)
    lengths = [len(prompt) - 1 for prompt in prompts]
    with lm.lock, torch.no_grad():
        prefix = forward.prefill(network, [prompt[:-1] for prompt in prompts])
        cache, mask = forward.aligned(prefix, range(len(prompts)), lengths) if prefix else (None, None)
    made: list[list[tuple[int, float]]] = [[] for _ in prompts]
    live = list(range(len(prompts)))  # rows of the cache, which shrinks as answers end
    current = [prompt[-1] for prompt in prompts]
    for step in range(tokens):
        tick((step + 1) / (tokens + 1))
        with lm.lock, torch.no_grad():
            embeds = forward.embed(network, torch.tensor([[current[row]] for row in live], device=network.device))
            if cache is None:
                cache, last = forward.extend(network, None, [[current[row]] for row in live], 0)
                mask = torch.zeros((len(live), 0), dtype=torch.bool, device=network.device)
            else:
                out = forward.after(network, cache, mask, embeds, [lengths[row] + step for row in live], layers=False)
                last = out.last_hidden_state
            assert mask is not None
            mask = torch.cat([mask, torch.ones((len(live), 1), dtype=torch.bool, device=mask.device)], dim=1)
            best = forward.log_probs(network, last[:, -1]).max(dim=-1)
            values, ids = best.values.tolist(), best.indices.tolist()
            for row, value, index in zip(live, values, ids, strict=True):
                made[row].append((index, value))
                current[row] = index
            keep = [i for i, row in enumerate(live) if current[row] not in lm.encoder.end_ids]
            if len(keep) < len(live):
                live = [live[i] for i in keep]
                if not live:
                    break
                cache, mask = forward.selected(cache, keep), mask[keep]
    return [_answer(lm, steps) for steps in made]


def _continue_without_cache(lm: LanguageModel, prompts: list[Ids], tokens: int, tick: Report) -> list[Answer]:
    found = []
    for number, prompt in enumerate(prompts):
        steps: list[tuple[int, float]] = []
        while len(steps) < tokens and (not steps or steps[-1][0] not in lm.encoder.end_ids):
            tick((number + len(steps) / tokens) / len(prompts))
            with lm.lock, torch.no_grad():
                ids = forward.padded([[*prompt, *(index for index, _ in steps)]], lm.network.device)
                last = forward.states(lm.network, forward.embed(lm.network, ids), layers=False, use_cache=False)
                best = forward.log_probs(lm.network, last.last_hidden_state[0, -1]).max(dim=-1)
                steps.append((int(best.indices), float(best.values)))
        found.append(_answer(lm, steps))
    return found


def _answer(lm: LanguageModel, steps: list[tuple[int, float]]) -> Answer:
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
