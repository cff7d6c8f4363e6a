r"""What the first-order estimate at the LM head leaves out, and how much of it the second order explains.

For prompts a and b, one target token, the states h that the head reads, and next-token distributions p:

    T_L = g_a · Δh                        first order
    Δ − T_L = −KL(p_a‖p_b)                its error, exactly: log p(y) is linear in h minus a log-sum-exp
    −½ Var_{p_a}(log p_b − log p_a)       second order: −½ Δhᵀ Hess(log-sum-exp) Δh = −½ Var_{p_a}(W·Δh)

All of it needs an LM head that is linear in h. Moving only a part ε of the way, the first error falls
like ε², the second like ε³.
"""

from dataclasses import dataclass

from analysis.divergence import Logs, kl, second_order


@dataclass(frozen=True)
class Remainder:
    """Errors of the estimates of Δ for one pair and target token, in nats."""

    delta: float
    first: float  # T_L
    second: float  # T_L + the second-order term
    kl_ab: float  # KL(p_a‖p_b) = T_L − Δ
    kl_ba: float  # KL(p_b‖p_a) = Δ − g_b·Δh

    @property
    def second_is_worse(self) -> bool:
        """Whether the second-order estimate is farther from Δ than the first-order one."""
        return abs(self.second - self.delta) > abs(self.first - self.delta)


def remainder(delta: float, first: float, log_p_a: Logs, log_p_b: Logs) -> Remainder:
    """The errors of T_L = `first` for a change `delta`, from the two next-token distributions (nats)."""
    return Remainder(delta, first, first + second_order(log_p_a, log_p_b), kl(log_p_a, log_p_b), kl(log_p_b, log_p_a))
