"""How two next-token distributions differ. All in nats and in log space: finite where a probability underflows."""

import math

import numpy as np
from jaxtyping import Float

Logs = Float[np.ndarray, " vocab"]
Distribution = tuple[Logs, Logs]  # log-probs and probabilities, float64


def jsd(log_p: Logs, log_q: Logs) -> float:
    """Jensen–Shannon divergence of two distributions given by their logs; between 0 and ln 2.

    Per token, log p − log m = ln 2 − log(1 + q/p) with m the mean of p and q: exactly 0 for equal
    distributions.
    """
    return jsd_of(distribution(log_p), distribution(log_q))


def kl(log_p: Logs, log_q: Logs) -> float:
    """Kullback–Leibler divergence KL(p‖q); infinite where q excludes what p allows."""
    log_p, log_q = np.asarray(log_p, dtype=np.float64), np.asarray(log_q, dtype=np.float64)
    p = np.exp(log_p)
    possible = p > 0
    return max(float(p[possible] @ (log_p[possible] - log_q[possible])), 0.0)


def second_order(log_p_a: Logs, log_p_b: Logs) -> float:
    """−½ Var_{p_a}(log p_b − log p_a): never positive, 0 for equal distributions."""
    return second_order_of(distribution(log_p_a), distribution(log_p_b))


def distribution(logs: Logs) -> Distribution:
    """Log-probs and probabilities in float64; a probability of exactly 0 gets a finite log that stays 0."""
    finite = np.maximum(np.asarray(logs, dtype=np.float64), -1e4)
    return finite, np.exp(finite)


def jsd_of(a: Distribution, b: Distribution) -> float:
    (log_p, p), (log_q, q) = a, b
    rise = log_q - log_p
    growth = np.logaddexp(0.0, rise)  # log(1 + q/p)
    ln2 = np.logaddexp(0.0, 0.0)
    total = p @ (ln2 - growth) + q @ (ln2 - (growth - rise))
    return min(max(float(total) / 2, 0.0), math.log(2))


def second_order_of(a: Distribution, b: Distribution) -> float:
    weight = a[1] / a[1].sum()
    change = b[0] - a[0]
    return float(-0.5 * (weight @ (change - weight @ change) ** 2))
