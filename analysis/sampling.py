"""What a model answers when it is sampled, as deployed models are; and how often that is the expected answer."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.stats import binomtest

from analysis.answers import Copy, Ids, Pick, continued
from analysis.answers_match import Match, is_expected
from analysis.model import LanguageModel
from analysis.results import Answer

Report = Callable[[float], object]


class SamplingError(ValueError):
    """A setting of sampling that makes no sense; the message is one sentence."""


@dataclass(frozen=True)
class Share:
    """How many of `count` independent samples are right, with a 95 % Wilson interval of the true share."""

    right: int
    count: int
    low: float
    high: float

    @property
    def share(self) -> float:
        return self.right / self.count


def sample(
    lm: LanguageModel,
    prompts: Sequence[Ids],
    *,
    temperature: float,
    count: int,
    tokens: int,
    seed: int,
    report: Report = lambda fraction: None,
) -> list[list[Answer]]:
    r"""`count` continuations per prompt of at most `tokens` tokens, each token drawn from softmax(logits / T).

    Sample k of a prompt depends on (seed, prompt ids, k) and on nothing else: not on the other prompts,
    on `count` or on batching; a shorter limit gives its beginning. An answer's log-probs are the
    model's own, at temperature 1. `report` is called before every step, and whatever it raises stops the run.
    Raises SamplingError for a temperature that is not above 0 (0 is the greedy answer: `answers.answers`).
    """
    if not 0 < temperature < np.inf:
        raise SamplingError(
            f"sampling needs a temperature above 0, not {temperature:g}: at 0 the answer is the greedy one"
        )
    if count < 1 or tokens < 1:
        raise SamplingError(f"sampling needs at least 1 sample of at least 1 token, not {count} of {tokens}")
    pick = _sampler(temperature, seed)
    found = dict(continued(lm, prompts, tokens, pick, copies=count, report=report))
    return [found[prompt] for prompt in prompts]


def share_right(
    samples: Sequence[Sequence[Answer]], expected: Sequence[str | None], match: Match = "contains"
) -> tuple[Share | None, ...]:
    """Per prompt the share of its samples that are its expected answer (`is_expected`); None where none is expected."""
    shares: list[Share | None] = []
    for row, wanted in zip(samples, expected, strict=True):
        if wanted is None or not row:
            shares.append(None)
            continue
        right = sum(is_expected(answer, wanted, match) for answer in row)
        interval = binomtest(right, len(row)).proportion_ci(0.95, method="wilson")
        shares.append(Share(right, len(row), float(interval.low), float(interval.high)))
    return tuple(shares)


def _sampler(temperature: float, seed: int) -> Pick:
    r"""Draws by the Gumbel-max trick: argmax_v (log p_v / T − log E_v), E_v exponential, has the law softmax(log p / T).

    Unlike drawing from the cumulated probabilities it does not hang on the sum over a large vocabulary, so
    that rounding, which differs from batch to batch, almost never changes a draw. E_v is float64: in
    float32 it would be 0 too often, and a 0 wins whatever the token.
    """
    generators: dict[Copy, np.random.Generator] = {}

    def pick(copies: Sequence[Copy], log_probs: torch.Tensor) -> list[int]:
        rows = log_probs.double().cpu().numpy() / temperature
        for row, copy in zip(rows, copies, strict=True):
            if copy not in generators:
                generators[copy] = _generator(seed, copy)
            row -= np.log(generators[copy].standard_exponential(row.size))
        return rows.argmax(axis=-1).tolist()

    return pick


def _generator(seed: int, copy: Copy) -> np.random.Generator:
    digest = hashlib.sha256(repr((seed, *copy)).encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16])))
