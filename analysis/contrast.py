"""Within and between: are prompts of one intent closer to each other than to prompts of another intent?

"They cluster" and "they disperse" say little without a measure. Here it is the distance to prompts that
mean something else, at the same layer, of the position that predicts the target's first token.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from analysis.dispersion import Distances, dispersion
from analysis.results import Trace
from analysis.taylor import distances, ratio


@dataclass(frozen=True, eq=False)
class Contrast:
    """Mean distances per layer, over all pairs inside a set and over all pairs with another set."""

    within: Distances  # layer
    between: Distances  # layer
    pairs: int  # how many pairs `between` is the mean of

    def share(self, view: str) -> Float[np.ndarray, " layer"]:
        """within / between in one view: below 1 where the set keeps together; NaN where all states are equal."""
        within, between = getattr(self.within, view), getattr(self.between, view)
        return np.where(between > 0, ratio(within, between), np.nan)


def contrast(own: Sequence[Trace], others: Sequence[Trace]) -> Contrast:
    """Compare the prompts of one intent with prompts of other intents, of the same model."""
    h, others_h = (np.stack([trace.hidden[0] for trace in traces]).astype(np.float64) for traces in (own, others))
    # One prompt of the set at a time: all pairs at once would hold |own| × |others| states.
    rows = [distances(state[None], others_h) for state in h]
    between = Distances(*(np.concatenate(view) for view in zip(*rows, strict=True))).mean()
    return Contrast(dispersion(own).pairwise, between, len(h) * len(others_h))
