"""A number for every two prompts of a set: Δ, the divergence of what comes next, and each one's answer after the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from jaxtyping import Float

from analysis.divergence import Logs
from analysis.results import Analysis
from analysis.sensitivity import ResponseScores

Kind = Literal["delta", "jsd", "response"]


@dataclass(frozen=True, eq=False)
class PairMatrix:
    """`values[i, j]` belongs to the prompts at `places[i]` and `places[j]` of `Analysis.prompts`; all in nats.

    delta: log p(target | j) − log p(target | i). jsd: Jensen–Shannon divergence of the next-token
    distributions. response: log P(response j | prompt i), summed over the response's tokens.
    """

    kind: Kind
    places: tuple[int, ...]
    values: Float[np.ndarray, "prompt prompt"]
    lengths: tuple[int, ...] = ()  # of the responses, in tokens


def delta_matrix(analysis: Analysis) -> PairMatrix:
    """Of the prompts that share the reference's target, controls and duplicates included."""
    common = analysis.target.ids if analysis.target else None
    found = {
        place: result.trace.log_prob
        for place, result in enumerate(analysis.prompts)
        if result.trace is not None and result.trace.target.ids == common
    }
    log_probs = np.array(list(found.values()))
    return PairMatrix("delta", tuple(found), log_probs[None, :] - log_probs[:, None])


def jsd_matrix(analysis: Analysis) -> PairMatrix:
    """Of all prompts that could be analysed."""
    traces = {place: result.trace for place, result in enumerate(analysis.prompts) if result.trace is not None}
    return PairMatrix("jsd", tuple(traces), divergences([trace.next_log_probs for trace in traces.values()]))


def response_matrix(responses: ResponseScores) -> PairMatrix:
    return PairMatrix("response", responses.places, responses.log_probs, responses.lengths)


def divergences(log_probs: Sequence[Logs]) -> Float[np.ndarray, "prompt prompt"]:
    """The Jensen–Shannon divergence of every two distributions, in nats; 0 on the diagonal and between equal ones.

    As the entropy of the mean without the mean of the entropies, which takes a quarter of the time of
    `divergence.jsd` and is exactly 0 for equal distributions too; what underflows in float64 adds nothing.
    """
    probabilities = [np.exp(np.asarray(logs, dtype=np.float64)) for logs in log_probs]
    entropies = [_entropy(p) for p in probabilities]
    values = np.zeros((len(log_probs), len(log_probs)))
    for a, b in combinations(range(len(log_probs)), 2):
        mean = (probabilities[a] + probabilities[b]) / 2
        found = _entropy(mean) - (entropies[a] + entropies[b]) / 2
        values[a, b] = values[b, a] = np.clip(found, 0.0, np.log(2))
    return values


def _entropy(p: Float[np.ndarray, " vocab"]) -> float:
    return -float(p @ np.log(p, out=np.zeros_like(p), where=p > 0))
