"""What the attribution analyses return: frozen values of NumPy arrays, with axes and units at each field.

s is the value that is explained: log p(target), or log p(target) − log p(foil), in nats. A signed score
is positive where the token raises s. NaN means "could not be computed", which is never the same as 0.
`held` marks what is shown apart: position 0 and the tokens that a tokenizer or a chat template put in.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from analysis.results import Target, Tokens

Groups = tuple[tuple[int, ...], ...]  # of token positions: words, sentences, or tokens alone
Held = tuple[bool, ...]


class AttributionError(ValueError):
    """An attribution that cannot be computed; the message is one sentence for the user."""


def held_tokens(tokens: Tokens) -> Held:
    """Tokens that soak up attribution and are shown apart: position 0, and what nobody typed."""
    return tuple(t == 0 or role in ("template", "added") for t, role in enumerate(tokens.roles))


@dataclass(frozen=True, eq=False)
class GradientMaps:
    """Two scores of every token from one backward pass, with respect to the input embeddings e."""

    tokens: Tokens
    target: Target
    foil: Target | None
    diverges_at: int | None  # the first token at which target and foil differ: s begins there
    value: float  # s, nats
    saliency: Float[np.ndarray, " token"]  # ‖∂s/∂e_t‖₂, a magnitude
    gradient_x_input: Float[np.ndarray, " token"]  # ∂s/∂e_t · e_t, nats


@dataclass(frozen=True, eq=False)
class TargetTokenMaps:
    """The same two scores for each target token's own log-prob; the products sum to the whole target's."""

    tokens: Tokens
    target: Target
    target_log_probs: Float[np.ndarray, " target"]  # nats, teacher-forced
    saliency: Float[np.ndarray, "target token"]
    gradient_x_input: Float[np.ndarray, "target token"]  # nats


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """What really happens to s without a token, or without a group of them."""

    tokens: Tokens
    target: Target
    foil: Target | None
    by: str  # "deletion": the rest moves together; "replacement": the filler token stands in its place
    groups: Groups
    held: tuple[bool, ...]  # per group: all its tokens are held
    value: float  # s of the whole prompt, nats
    scores: Float[np.ndarray, " group"]  # s(whole) − s(without), nats


@dataclass(frozen=True)
class Agreement:
    """Spearman's ρ of leave-one-out with the gradient maps over the tokens that are not held.

    None where fewer than three tokens have both scores, or one of the two is the same everywhere.
    """

    by: str  # as in LeaveOneOut
    tokens: int  # how many were compared
    saliency: float | None  # with |leave-one-out|: both are magnitudes
    gradient_x_input: float | None


@dataclass(frozen=True, eq=False)
class IntegratedGradients:
    """The gradient summed along the straight way from a baseline to the prompt.

    In theory Σ scores = s(prompt) − s(baseline). How far the computed sum is from it, and how far its
    parts are, says whether the map can be believed.
    """

    tokens: Tokens
    target: Target
    foil: Target | None
    baseline: str  # what every token that is not held starts from: "filler" (pad or EOS) or "mean" embedding
    rule: str  # how the points were chosen
    held: Held  # not moved, so their score is 0 by construction
    scores: Float[np.ndarray, " token"]  # nats
    value: float  # s(prompt), nats
    baseline_value: float  # s(baseline), nats
    local_error: float  # Σ over intervals |integral − rise of s|, nats: errors that cancel count too
    evaluations: int  # points at which the gradient was taken
    tolerance: float
    converged: bool  # local_error ≤ tolerance · |s(prompt) − s(baseline)|

    @property
    def residual(self) -> float:
        """Σ scores − (s(prompt) − s(baseline)), nats."""
        return float(self.scores.sum()) - (self.value - self.baseline_value)

    @property
    def relative_error(self) -> float | None:
        """`local_error` as a share of |s(prompt) − s(baseline)|; None where that is 0 or unknown."""
        return _share(self.local_error, self.value - self.baseline_value)

    @property
    def relative_residual(self) -> float | None:
        """|residual| as a share of |s(prompt) − s(baseline)|; None where that is 0 or unknown."""
        return _share(abs(self.residual), self.value - self.baseline_value)


def _share(part: float, whole: float) -> float | None:
    return part / abs(whole) if np.isfinite(part) and np.isfinite(whole) and whole else None


@dataclass(frozen=True, eq=False)
class DeletionCurve:
    """s while tokens are deleted in the order of a ranking, beside random orders of the same tokens.

    A ranking of what raises s should make it fall faster than chance. Held tokens stay to the end.
    """

    tokens: Tokens
    target: Target
    foil: Target | None
    held: Held
    order: tuple[int, ...]  # positions, the first to go first
    removed: Int[np.ndarray, " step"]  # how many tokens are gone, from 0 to all that are not held
    curve: Float[np.ndarray, " step"]  # s, nats
    random: Float[np.ndarray, "order step"]  # s, nats

    @property
    def random_mean(self) -> Float[np.ndarray, " step"]:
        return self.random.mean(axis=0)

    @property
    def random_min(self) -> Float[np.ndarray, " step"]:
        return self.random.min(axis=0)

    @property
    def random_max(self) -> Float[np.ndarray, " step"]:
        return self.random.max(axis=0)

    @property
    def area(self) -> float | None:
        """Mean height of the random curves over this one along the share removed, in nats; None where unknown."""
        area = self._mean_height(self.random_mean) - self._mean_height(self.curve)
        return area if np.isfinite(area) else None

    @property
    def beaten(self) -> float | None:
        """Share of the random orders under which s stays higher on average; None where unknown."""
        heights = np.array([self._mean_height(row) for row in self.random])
        own = self._mean_height(self.curve)
        return float((heights > own).mean()) if np.isfinite(own) and np.isfinite(heights).all() else None

    def _mean_height(self, values: Float[np.ndarray, " step"]) -> float:
        return float(np.trapezoid(values, self.removed / self.removed[-1]))


@dataclass(frozen=True, eq=False)
class PairEffects:
    """The scores of two wordings side by side, token by aligned token."""

    pairs: tuple[tuple[int | None, int | None], ...]  # positions in the reference and the variant
    reference: Float[np.ndarray, " row"]  # NaN where the row has no such token
    variant: Float[np.ndarray, " row"]
    change: Float[np.ndarray, " row"]  # variant − reference; NaN where there is no pair
    aligned: int  # rows with both
    rank_correlation: float | None  # Spearman's ρ over them; None as in Agreement
