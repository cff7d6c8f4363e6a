"""Which prompts are alike inside the model: distances between all of them, an order, and maps that keep the distances."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from analysis.dispersion import Dispersion, principal_plane, turned
from analysis.taylor import ratio

Matrix = Float[np.ndarray, "prompt prompt"]

STEPS = 200  # of SMACOF, at most
ENOUGH = 1e-7  # of the squared distances: a step that lowers the squared errors by less is the last


@dataclass(frozen=True, eq=False)
class Map:
    """Prompts in a plane whose distances are as near to the given ones as was found."""

    xy: Float[np.ndarray, "prompt 2"]  # around their mean, in the unit of the distances
    stress: float  # √(Σ(d − δ)² / Σδ²) over pairs, d in the plane, δ as given; 0: all distances are kept


def order(matrix: Matrix) -> list[int]:
    """Prompts so that neighbours are alike; the first prompt stands in the first half.

    The order of the leaves of an average-linkage clustering in which the sum of distances between neighbours
    is smallest: Bar-Joseph, Gifford & Jaakkola 2001. As given where a distance is not finite.
    """
    count = len(matrix)
    if count < 3 or not np.isfinite(matrix).all():
        return list(range(count))
    leaves = [
        int(leaf)
        for leaf in leaves_list(
            linkage(np.asarray(matrix)[np.triu_indices(count, k=1)], "average", optimal_ordering=True)
        )
    ]
    return leaves if leaves.index(0) < count / 2 else leaves[::-1]


def distance_matrix(found: Dispersion, layer: int, view: str) -> Matrix:
    """The distances of all pairs at one layer, "raw", "relative" or "cosine", with zeros on the diagonal."""
    if found.prompts < 2:
        return np.zeros((found.prompts, found.prompts))
    return np.asarray(squareform(getattr(found.pairs, view)[:, layer]))


def mds(matrix: Matrix) -> Map:
    """Metric multidimensional scaling: points in a plane whose distances are as near as possible to the matrix.

    Starts from classical scaling (Torgerson 1952) and lowers the stress step by step (SMACOF, de Leeuw 1977), so it is
    the same each time; it may end in a local minimum. All points in one place where a distance is not finite.
    """
    wanted = np.asarray(matrix, dtype=np.float64)
    if not np.isfinite(wanted).all():
        return Map(np.zeros((len(wanted), 2)), 1.0)
    total = float((wanted**2).sum())
    if total == 0:
        return Map(np.zeros((len(wanted), 2)), 0.0)
    xy = _classical(wanted)
    apart = _apart(xy)
    off = float(((apart - wanted) ** 2).sum())
    for _ in range(STEPS):
        moved = _majorized(wanted, xy, apart)
        apart = _apart(moved)
        before, off, xy = off, float(((apart - wanted) ** 2).sum()), moved
        if before - off <= ENOUGH * total:
            break
    return Map(principal_plane(xy).xy, math.sqrt(off / total))


def maps(found: Dispersion, view: str) -> tuple[Map, ...]:
    """The map of every layer, each turned or mirrored onto the one before so that points do not jump."""
    made: list[Map] = []
    for layer in range(found.pairs.raw.shape[-1]):
        new = mds(distance_matrix(found, layer, view))
        made.append(Map(turned(new.xy, made[-1].xy), new.stress) if made else new)
    return tuple(made)


def _classical(wanted: Matrix) -> Float[np.ndarray, "prompt 2"]:
    """Coordinates along the two largest eigenvalues of the doubly centred squares."""
    squares = -0.5 * wanted**2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(centred)
    xy = np.zeros((len(wanted), 2))
    top = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0.0))
    xy[:, : top.shape[1]] = top
    return xy


def _majorized(wanted: Matrix, xy: Float[np.ndarray, "prompt 2"], apart: Matrix) -> Float[np.ndarray, "prompt 2"]:
    """One Guttman transform: the minimum of a quadratic that touches the squared errors from above at `xy`."""
    pull = ratio(wanted, apart)
    return np.asarray((pull.sum(axis=1)[:, None] * xy - pull @ xy) / len(xy))


def _apart(xy: Float[np.ndarray, "prompt 2"]) -> Matrix:
    return np.asarray(np.hypot(*(xy[:, None] - xy[None]).T))
