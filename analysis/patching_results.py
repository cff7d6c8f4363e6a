"""What patching returns: how the log-prob moves when one state is exchanged, layer by layer."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class PatchCurve:
    """log p(y_k | a) with the last token's state at layer l replaced by prompt b's, minus log p(y_k | a).

    Layer 0 is what enters the first block; the last layer is what the head reads, so `effect[-1]` is Δ.
    """

    target: int  # which token of the target
    effect: Float[np.ndarray, " layer"]  # P_l, nats

    @property
    def jump(self) -> int:
        """The layer l before the largest step |P_l+1 − P_l|: what differs is read from the context in block l."""
        return int(np.abs(np.diff(self.effect)).argmax())

    @property
    def step(self) -> float:
        """P_l+1 − P_l at the jump, nats."""
        return float(np.diff(self.effect)[self.jump])
