"""What "Which edit did it?" returns: the edits between two wordings, and what each did to log p(target)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from analysis.results import Target


class EditError(ValueError):
    """Two prompts whose difference cannot be cut into edits; the message is one sentence for the user."""


@dataclass(frozen=True)
class TextEdit:
    """Characters [a_start, a_end) of the reference, `before`, become [b_start, b_end) of the variant, `after`."""

    before: str
    after: str
    a_start: int
    a_end: int
    b_start: int
    b_end: int


@dataclass(frozen=True, eq=False)
class EditAttribution:
    """Shapley values of the edits that turn the reference into the variant, in the order of the text.

    v(S) = log p(target) after the reference with the edits in S made. `residual` is Δ as the engine has it
    minus the sum of the values.
    """

    index: int  # of the variant's row
    label: str
    reference: str
    variant: str
    target: Target
    hunks: tuple[TextEdit, ...]
    values: Float[np.ndarray, " hunk"]  # nats
    standard_errors: Float[np.ndarray, " hunk"] | None  # of sampled values; None where they are exact
    interactions: Float[np.ndarray, "hunk hunk"] | None  # nats; where the values are exact
    alone: Float[np.ndarray, " hunk"]  # Δ with this edit alone made, nats
    without: Float[np.ndarray, " hunk"]  # Δ with all other edits made, nats
    delta: float  # log p(variant) − log p(reference), nats
    residual: float
    passes: int  # texts that were scored
    merged: bool  # there were more edits than can be told apart, so neighbours count as one

    @property
    def exact(self) -> bool:
        return self.standard_errors is None

    @property
    def ranked(self) -> tuple[int, ...]:
        """Places of the hunks, the largest effect first."""
        return tuple(int(place) for place in np.argsort(-np.abs(self.values), kind="stable"))


def token_scores(
    found: EditAttribution, spans: Sequence[tuple[int, int]], start: int = 0
) -> Float[np.ndarray, " token"]:
    """Each hunk's whole value on every one of the variant's tokens that holds any of its new text; 0 elsewhere.

    `spans` are the tokens' characters in a text in which the variant begins at `start` (a rendered chat
    template). What was only deleted has no token here.
    """
    scores = np.zeros(len(spans))
    for hunk, value in zip(found.hunks, found.values, strict=True):
        low, high = hunk.b_start + start, hunk.b_end + start
        scores[[t for t, (a, b) in enumerate(spans) if a < high and low < b]] = float(value)
    return scores
