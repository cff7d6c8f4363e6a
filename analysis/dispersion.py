"""Do the states of prompts that mean the same come together with depth, or drift apart?

Looks at the states of the position that predicts a target token, layer by layer. Raw distances depend
on the scale of a layer and jump at the final norm, so each mean comes in three views: raw, relative to
the states' norm, and cosine distance. Pictures in a plane are principal components.

The question and the mean pairwise distance: Liu & Chu, ACL 2026, arXiv 2604.18389.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.linalg import orthogonal_procrustes
from scipy.spatial.distance import pdist

from analysis.results import Trace
from analysis.taylor import distances, ratio

#: Singular values below this share of the largest are rounding, not spread.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Distances:
    """One distance in three views."""

    raw: Float[np.ndarray, "*axes layer"]  # model units
    relative: Float[np.ndarray, "*axes layer"]  # raw / mean norm of the two states
    cosine: Float[np.ndarray, "*axes layer"]  # 1 − cos of the angle between the two states

    def mean(self) -> "Distances":
        """The mean over all axes but the layer; 0 where there is nothing to average."""
        return Distances(*(_mean(view) for view in (self.raw, self.relative, self.cosine)))


@dataclass(frozen=True, eq=False)
class Dispersion:
    """How far the states of N prompts are apart; all zero for a single prompt."""

    prompts: int
    from_reference: Distances  # prompt × layer, the reference first, with zeros
    to_reference: Distances  # layer: mean over the other prompts
    pairs: Distances  # pair × layer: every two prompts, in the order of np.triu_indices
    pairwise: Distances  # layer: mean over all pairs
    to_centroid: Distances  # layer: mean over the prompts of the distance to their mean state


def dispersion(traces: Sequence[Trace], target: int = 0) -> Dispersion:
    """Distances between the states of `traces`, the reference first, at target token `target`.

    Which prompts belong together is the caller's choice: controls do not, and equal prompts count
    each time they are given.
    """
    h = _states(traces, target)  # [prompt, layer, hidden]
    reference, pairs = Distances(*distances(h[:1], h)), _pairwise(h)
    return Dispersion(
        prompts=len(h),
        from_reference=reference,
        to_reference=Distances(reference.raw[1:], reference.relative[1:], reference.cosine[1:]).mean(),
        pairs=pairs,
        pairwise=pairs.mean(),
        to_centroid=Distances(*distances(_centroid(h)[None], h)).mean(),
    )


@dataclass(frozen=True, eq=False)
class Plane:
    """States in the plane in which they are spread most; distances in it are in model units."""

    xy: Float[np.ndarray, "prompt 2"]  # around the prompts' mean
    explained: Float[np.ndarray, " 2"]  # share of the states' total variance along each axis


def plane(traces: Sequence[Trace], layer: int, target: int = 0) -> Plane:
    """The first two principal components of the states at one layer.

    The sign of an axis is free; here the prompt that is farthest out on it has a positive coordinate.
    Zeros for one prompt and for equal states, and on an axis along which nothing varies.
    """
    return principal_plane(_states(traces, target)[:, layer])


def planes(traces: Sequence[Trace], target: int = 0) -> tuple[Plane, ...]:
    """The plane of every layer, each turned or mirrored onto the one before so that points do not jump.

    Turning (orthogonal Procrustes) keeps all distances within a layer; the axes are then no longer the
    principal ones, and `explained` is along the turned axes, with the same sum.
    """
    found: list[Plane] = []
    for states in _states(traces, target).swapaxes(0, 1):
        new = principal_plane(states)
        if found and new.xy.any():
            xy = turned(new.xy, found[-1].xy)
            new = Plane(xy, (xy**2).sum(axis=0) / _spread(_centred(states)))
        found.append(new)
    return tuple(found)


def principal_plane(states: Float[np.ndarray, "prompt hidden"]) -> Plane:
    """As `plane`, of states."""
    centred = _centred(states)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    xy = np.zeros((len(states), 2))
    for axis in range(min(2, len(s))):
        if s[axis] > ROUNDING * s[0]:
            column = u[:, axis] * s[axis]
            xy[:, axis] = column * np.sign(column[np.abs(column).argmax()])
    total = _spread(centred)
    return Plane(xy, (xy**2).sum(axis=0) / total if total > 0 else np.zeros(2))


def turned(xy: Float[np.ndarray, "prompt 2"], onto: Float[np.ndarray, "prompt 2"]) -> Float[np.ndarray, "prompt 2"]:
    """`xy` turned or mirrored around 0 to lie nearest to `onto` (orthogonal Procrustes); as it is where one is all 0."""
    if not xy.any() or not onto.any():
        return xy
    return np.asarray(xy @ orthogonal_procrustes(xy, onto)[0])


def _states(traces: Sequence[Trace], target: int) -> Float[np.ndarray, "prompt layer hidden"]:
    if not traces:
        raise ValueError("no prompt could be analysed, so there are no states to compare")
    return np.stack([trace.hidden[target] for trace in traces]).astype(np.float64)


def _pairwise(h: np.ndarray) -> Distances:
    """Of every pair [pair, layer], as `distances` has them, but for all pairs at once."""
    if len(h) < 2:
        nothing = np.zeros((0, h.shape[1]))
        return Distances(nothing, nothing, nothing)
    norms = np.linalg.norm(h, axis=-1)  # [prompt, layer]
    one, other = np.triu_indices(len(h), k=1)
    raw = np.stack([pdist(states) for states in h.swapaxes(0, 1)], axis=-1)
    directions = ratio(h, norms[..., None])
    apart = np.stack([pdist(states, "sqeuclidean") for states in directions.swapaxes(0, 1)], axis=-1)
    return Distances(raw, ratio(raw, (norms[one] + norms[other]) / 2), apart / 2)


def _centred(states: np.ndarray) -> np.ndarray:
    """Around the mean; exactly 0 for equal states, which their rounded mean would not give."""
    moved = states - states[0]
    return moved - moved.mean(axis=0)


def _centroid(h: np.ndarray) -> np.ndarray:
    """The mean state per layer; exactly the states' own where they are equal."""
    return h[0] + (h - h[0]).mean(axis=0)


def _spread(centred: np.ndarray) -> float:
    return float((centred**2).sum())


def _mean(values: np.ndarray) -> np.ndarray:
    rows = values.reshape(-1, values.shape[-1])
    return rows.mean(axis=0) if len(rows) else np.zeros(values.shape[-1])
