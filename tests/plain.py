"""What transformers says by itself, one prompt at a time: the oracle of the engine's tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch

from analysis.model import LanguageModel, assemble
from tests import tiny


@cache
def loaded(family: str = "llama") -> LanguageModel:
    """A tiny model that many tests share: nothing may change it."""
    return assemble(tiny.network(family, scale=8.0), tiny.tokenizer(), "tiny")


@dataclass(frozen=True, eq=False)
class Plain:
    """A trace's values from one pass over ids and one differentiable pass over embeddings."""

    log_probs: np.ndarray  # [target]
    next_log_probs: np.ndarray  # [vocab]
    hidden: np.ndarray  # [target, layer, hidden]
    gradient: np.ndarray  # [target, layer, hidden]
    saliency: np.ndarray  # [token]
    gradient_x_input: np.ndarray  # [token]


def trace(model: Any, prompt: Sequence[int], target: Sequence[int]) -> Plain:
    """`prompt` and `target` as `model` reads them, with the model's own head and loss-like gradients."""
    ids = torch.tensor([[*prompt, *target]])
    places = [len(prompt) - 1 + k for k in range(len(target))]
    with torch.no_grad():
        read = model(input_ids=ids, output_hidden_states=True, use_cache=False)
        log_probs = torch.log_softmax(read.logits[0].float(), dim=-1)
    embeds = model.get_input_embeddings()(ids).detach().requires_grad_(True)
    out = model(inputs_embeds=embeds, output_hidden_states=True, use_cache=False)
    scores = torch.log_softmax(out.logits[0].float(), dim=-1)[places, list(target)]
    gradients = [torch.autograd.grad(score, out.hidden_states, retain_graph=True) for score in scores]
    toward = torch.autograd.grad(scores.sum(), embeds)[0][0, : len(prompt)]
    return Plain(
        log_probs=log_probs[places, list(target)].numpy(),
        next_log_probs=log_probs[len(prompt) - 1].numpy(),
        hidden=np.stack([[layer[0, place].numpy() for layer in read.hidden_states] for place in places]),
        gradient=np.stack(
            [[layer[0, place].numpy() for layer in row] for row, place in zip(gradients, places, strict=True)]
        ),
        saliency=toward.norm(dim=-1).numpy(),
        gradient_x_input=(toward * embeds[0, : len(prompt)]).sum(-1).detach().numpy(),
    )


def scores(model: Any, context: Sequence[int], continuation: Sequence[int]) -> np.ndarray:
    """log p of each token of a continuation [target], nats."""
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([[*context, *continuation]]), use_cache=False).logits[0]
    log_probs = torch.log_softmax(logits.float(), dim=-1)
    return np.array([float(log_probs[len(context) - 1 + k, index]) for k, index in enumerate(continuation)])


def greedy(model: Any, prompt: Sequence[int], tokens: int, end_ids: frozenset[int]) -> list[tuple[int, float]]:
    """(id, log-prob) of the likeliest continuation by whole passes; an end token counts and ends it."""
    made: list[tuple[int, float]] = []
    while len(made) < tokens and not (made and made[-1][0] in end_ids):
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([[*prompt, *(i for i, _ in made)]]), use_cache=False).logits[0, -1]
        log_probs = torch.log_softmax(logits.float(), dim=-1)
        made.append((int(log_probs.argmax()), float(log_probs.max())))
    return made
