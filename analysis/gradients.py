"""The value that is explained, and its gradient at any embeddings of a prompt.

s = log p(y | prompt), or s = log p(y | prompt) − log p(y′ | prompt) for a foil y′; a sum over the tokens
of the continuations. A log-prob, never a probability: probabilities saturate.

Shapes: B points, T prompt tokens, R rows read per point, W tokens of the longest row after the prompt,
H hidden.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from analysis import forward
from analysis.attribution_results import AttributionError
from analysis.forward import Network
from analysis.model import LanguageModel
from analysis.results import Target, Tokens
from analysis.trace import ACTIVATION_BYTES, CHUNK_TOKENS, token_bytes

Report = Callable[[float], object]
Ids = tuple[int, ...]

MAX_POINTS = 8  # in one pass


@dataclass(frozen=True)
class Objective:
    """s as what is read after a prompt and which log-probs are summed.

    `tails` are the ids read after the prompt, one row for each. A term (row, place, id, sign) is the
    log-prob of `id` after the prompt and the first `place` ids of that row's tail.
    """

    prompt: Ids
    tails: tuple[Ids, ...]
    terms: tuple[tuple[int, int, int, float], ...]

    @property
    def tokens_read(self) -> int:
        """Tokens of one evaluation, padding included."""
        return len(self.tails) * (len(self.prompt) + max(map(len, self.tails)))


def objective(tokens: Tokens, target: Target, foil: Target | None = None) -> Objective:
    """s for a target, or for a target against a foil of any length.

    What target and foil begin with in common cancels and is left out. One row is read where one
    continuation's context contains the other's, as for any two single tokens.
    Errors: AttributionError where target and foil are the same tokens.
    """
    if foil is None:
        return Objective(
            tokens.ids, (target.ids[:-1],), tuple((0, k, index, 1.0) for k, index in enumerate(target.ids))
        )
    start = diverges_at(target, foil)
    longer, shorter = sorted((target.ids[:-1], foil.ids[:-1]), key=len, reverse=True)
    shared = longer[: len(shorter)] == shorter
    tails = (longer,) if shared else (target.ids[:-1], foil.ids[:-1])
    terms = [(0, k, index, 1.0) for k, index in enumerate(target.ids) if k >= start]
    terms += [(0 if shared else 1, k, index, -1.0) for k, index in enumerate(foil.ids) if k >= start]
    return Objective(tokens.ids, tails, tuple(terms))


def diverges_at(target: Target, foil: Target) -> int:
    """The first place at which two continuations differ; the length of one that begins the other."""
    if target.ids == foil.ids:
        raise AttributionError(f"the target and the foil are the same tokens ({target.text!r}): choose another foil")
    return forward.common_prefix([target.ids, foil.ids])


def require_gradients(lm: LanguageModel) -> None:
    if lm.can.no_gradients is not None:
        raise AttributionError(f"gradients are not available for {lm.card.name}: {lm.can.no_gradients}")


def embedded(lm: LanguageModel, ids: Ids) -> torch.Tensor:
    """Ids [T] → input embeddings [T, H], without a graph."""
    with lm.lock, torch.no_grad():
        return forward.embed(lm.network, torch.tensor([ids], dtype=torch.long, device=lm.network.device))[0]


def values(network: Network, what: Objective, points: torch.Tensor) -> torch.Tensor:
    """s [B] at prompts given by their embeddings [B, T, H]; differentiable."""
    count, length, width = len(points), points.shape[1], max(map(len, what.tails))
    rows = points.repeat_interleave(len(what.tails), dim=0)  # [B·R, T, H]
    if width:
        tails = forward.embed(network, forward.padded(what.tails, network.device, width)).detach()  # [R, W, H]
        rows = torch.cat([rows, tails.repeat(count, 1, 1)], dim=1)
    last = forward.states(network, rows, layers=False, use_cache=False).last_hidden_state
    places = sorted({(row, place) for row, place, _, _ in what.terms})
    at = torch.tensor(places, device=network.device)
    last = last.unflatten(0, (count, len(what.tails)))[:, at[:, 0], length - 1 + at[:, 1]]  # [B, places, H]
    log_probs = forward.log_probs(network, last)  # [B, places, V]
    index = torch.tensor(
        [[places.index((row, place)), wanted] for row, place, wanted, _ in what.terms], device=network.device
    )
    signs = torch.tensor([sign for *_, sign in what.terms], device=network.device, dtype=log_probs.dtype)
    return (log_probs[:, index[:, 0], index[:, 1]] * signs).sum(dim=1)


def points_per_pass(network: Network, what: Objective) -> int:
    """How many points run together: within the memory of a backward pass and a chunk's share of time."""
    each = what.tokens_read
    # Activations; logits, their log-softmax and the gradients of both, in float32.
    memory = token_bytes(network) * each + 16 * network.vocabulary * len(what.terms)
    return max(1, min(MAX_POINTS, CHUNK_TOKENS // each, ACTIVATION_BYTES // memory))


def value_and_gradient(
    lm: LanguageModel, what: Objective, points: torch.Tensor, tick: Report = lambda fraction: None
) -> tuple[np.ndarray, torch.Tensor]:
    """s [B] and ∂s/∂e [B, T, H] at embeddings [B, T, H], in one pass under the lock.

    A pass too large for memory keeps the blocks' inputs only and recomputes the rest; `tick` then gets
    the share done at every block and may raise to stop it. Nothing is left behind in the model.
    """
    network = lm.network
    long = len(points) * what.tokens_read * token_bytes(network) > ACTIVATION_BYTES
    blocks = 0

    def step() -> None:
        nonlocal blocks
        blocks += 1
        # A forward pass, then per block its recomputation with the backward pass, which takes twice as long.
        done = blocks if blocks <= network.layers else 2 * blocks - network.layers
        tick(min(1.0, done / (3 * network.layers)))

    with lm.lock, torch.enable_grad():
        watched = forward.watched(network, step, checkpointed=True) if long else contextlib.nullcontext()
        with watched:
            points = points.detach().requires_grad_(True)
            found = values(network, what, points)
            (gradient,) = torch.autograd.grad(found.sum(), points)
    return found.detach().cpu().double().numpy(), gradient
