r"""How far a change of the last token's state explains the change of a log-prob between two prompts.

For prompts a, b and one target token: h_l is the state of the position that predicts it and
g_l = ∂ log p(y) / ∂h_l. Differences point from a to b, logs are natural.

    T_l = g_a,l · Δh_l            first-order estimate (Taylor) of what moving this state does
    B_l = ‖g_a,l‖ ‖Δh_l‖          its Cauchy–Schwarz bound; it bounds T_l, not Δ

At the last layer L the log-prob is concave in h (linear minus log-sum-exp), hence exactly
g_b·Δh ≤ Δ ≤ g_a·Δh, with g_a·Δh = Δ + KL(p_a‖p_b) and g_b·Δh = Δ − KL(p_b‖p_a).

Estimate and bound: Liu & Chu, "Understanding the Prompt Sensitivity", ACL 2026, arXiv 2604.18389.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Bool, Float, Int

from analysis.divergence import distribution, jsd_of, second_order_of
from analysis.results import Analysis, Trace

#: A bound is violated where |Δ| exceeds it by more than float32 noise.
SLACK = 1e-4


@dataclass(frozen=True, eq=False)
class TokenPair:
    """Two prompts, a and b, compared at the position that predicts one target token.

    What needs gradients is None where there are none, or where the two targets differ. `lower` ≤ Δ
    ≤ `upper` and |Δ| ≤ `certified` hold exactly (to rounding); all three are None where the LM head
    is not linear.
    """

    delta: float | None  # log p_b − log p_a of this token, nats
    distance: Float[np.ndarray, " layer"]  # ‖Δh_l‖, model units
    relative: Float[np.ndarray, " layer"]  # ‖Δh_l‖ / mean of ‖h_a,l‖ and ‖h_b,l‖
    cosine: Float[np.ndarray, " layer"]  # 1 − cos(h_a,l, h_b,l)
    taylor: Float[np.ndarray, " layer"] | None  # T_l, nats
    bound: Float[np.ndarray, " layer"] | None  # B_l, nats
    lower: float | None  # g_b·Δh at the last layer, nats
    upper: float | None  # g_a·Δh at the last layer, nats
    certified: float | None  # max(‖g_a‖, ‖g_b‖) ‖Δh‖ at the last layer, nats

    @property
    def violations(self) -> Bool[np.ndarray, " layer"] | None:
        """The layers whose bound B_l is smaller than |Δ|."""
        if self.bound is None or self.delta is None:
            return None
        return abs(self.delta) > self.bound + SLACK


def violations(pairs: Sequence[TokenPair]) -> tuple[Int[np.ndarray, " layer"], int]:
    """How many pairs violate the bound at each layer, of how many that have one; without any, no layers."""
    found = [pair.violations for pair in pairs if pair.violations is not None]
    return np.asarray(np.sum(found, axis=0, dtype=np.int64) if found else [], dtype=np.int64), len(found)


def gradient_norms(traces: Sequence[Trace], target: int = 0) -> Float[np.ndarray, "prompt layer"]:
    """‖g_l‖ of each prompt, nats per model unit; NaN where there are no gradients."""
    layers = traces[0].hidden.shape[1] if traces else 0
    unknown = np.full(layers, np.nan)
    norms = [
        unknown if trace.gradient is None else np.linalg.norm(trace.gradient[target].astype(np.float64), axis=-1)
        for trace in traces
    ]
    return np.stack(norms) if norms else np.zeros((0, 0))


@dataclass(frozen=True, eq=False)
class Pair:
    """Two analysed prompts, by their places in `Analysis.prompts`."""

    a: int
    b: int
    delta: float  # log p_b − log p_a of each one's target, nats
    own_target: bool  # the targets differ: `delta` compares each on its own, gradients do not compare
    tokens: tuple[TokenPair, ...]  # one per target token; only the first position where targets differ
    jsd: float  # of the next-token distributions, nats
    second: float | None  # Δ of the first target token by the second-order estimate at the head, where `upper` is valid


def pairs(analysis: Analysis) -> tuple[Pair, ...]:
    """Every a < b among the prompts that have a trace."""
    return _pairs(analysis, list(combinations(_traced(analysis), 2)))


def against_reference(analysis: Analysis) -> tuple[Pair, ...]:
    """The reference with every other prompt that has a trace; none where the reference has none."""
    places = _traced(analysis)
    return _pairs(analysis, [(0, b) for b in places[1:]]) if places[:1] == [0] else ()


def pair(analysis: Analysis, a: int, b: int) -> Pair:
    """The prompts at places `a` and `b`, which must have traces."""
    for place in (a, b):
        if analysis.prompts[place].trace is None:
            raise ValueError(f"prompt {place} could not be analysed, so it cannot be compared")
    return _pairs(analysis, [(a, b)])[0]


def _pairs(analysis: Analysis, places: list[tuple[int, int]]) -> tuple[Pair, ...]:
    traces = {place: analysis.prompts[place].trace for both in places for place in both}
    # Each prompt's probabilities once: a pair then takes half the time.
    distributions = {place: distribution(trace.next_log_probs) for place, trace in traces.items() if trace}
    linear_head = all(name != "certified bounds" for name, _ in analysis.model.unavailable)
    made = []
    for a, b in places:
        one, other = traces[a], traces[b]
        assert one is not None
        assert other is not None
        own = one.target.ids != other.target.ids
        tokens = tuple(compare(one, other, k, linear_head) for k in range(1 if own else len(one.target)))
        divergence = jsd_of(distributions[a], distributions[b])
        upper = tokens[0].upper
        second = None if upper is None else upper + second_order_of(distributions[a], distributions[b])
        made.append(Pair(a, b, other.log_prob - one.log_prob, own, tokens, divergence, second))
    return tuple(made)


@np.errstate(invalid="ignore", over="ignore")  # what cannot be computed is NaN, not a warning
def compare(a: Trace, b: Trace, target: int = 0, linear_head: bool = True) -> TokenPair:
    """Traces a and b at target token `target`. Sums are in float64."""
    h_a, h_b = (trace.hidden[target].astype(np.float64) for trace in (a, b))  # [layer, hidden]
    dh = h_b - h_a
    distance, relative, cosine = distances(h_a, h_b)
    same = a.target.ids == b.target.ids
    delta = float(b.target_log_probs[target]) - float(a.target_log_probs[target]) if same else None
    if not same or a.gradient is None or b.gradient is None:
        return TokenPair(delta, distance, relative, cosine, None, None, None, None, None)
    g_a, g_b = (gradient[target].astype(np.float64) for gradient in (a.gradient, b.gradient))
    taylor = (g_a * dh).sum(axis=-1)
    bound = np.linalg.norm(g_a, axis=-1) * distance
    if not linear_head:
        return TokenPair(delta, distance, relative, cosine, taylor, bound, None, None, None)
    other_way = float(np.linalg.norm(g_b[-1]) * distance[-1])
    return TokenPair(
        delta=delta,
        distance=distance,
        relative=relative,
        cosine=cosine,
        taylor=taylor,
        bound=bound,
        lower=float(g_b[-1] @ dh[-1]),
        upper=float(taylor[-1]),
        certified=max(float(bound[-1]), other_way),
    )


def distances(
    h_a: Float[np.ndarray, "*axes hidden"], h_b: Float[np.ndarray, "*axes hidden"]
) -> tuple[Float[np.ndarray, "*axes"], Float[np.ndarray, "*axes"], Float[np.ndarray, "*axes"]]:
    """‖h_b − h_a‖, the same relative to the mean norm of the two, and 1 − cos of their angle.

    Exactly 0 for equal states. 1 − cos is computed as ½‖h_a/‖h_a‖ − h_b/‖h_b‖‖², which does not
    cancel; a state of length 0 has no direction and stays 0 in it.
    """
    norm_a, norm_b = np.linalg.norm(h_a, axis=-1), np.linalg.norm(h_b, axis=-1)
    distance = np.linalg.norm(h_b - h_a, axis=-1)
    relative = ratio(distance, (norm_a + norm_b) / 2)
    apart = ratio(h_b, norm_b[..., None]) - ratio(h_a, norm_a[..., None])
    return distance, relative, (apart**2).sum(axis=-1) / 2


def _traced(analysis: Analysis) -> list[int]:
    return [place for place, result in enumerate(analysis.prompts) if result.trace is not None]


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """The quotient, 0 where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator, dtype=np.float64), where=denominator > 0)
