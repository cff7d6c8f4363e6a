"""What really happens to s when tokens are gone: leave-one-out, and deletion curves of a ranking.

No gradients are needed, so this works for every model that can be scored. Contexts that begin alike are
run once as far as they do (`analysis.scoring`).
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from analysis.attribution_results import AttributionError, DeletionCurve, Groups, Held, LeaveOneOut, held_tokens
from analysis.gradients import Ids, Report, diverges_at
from analysis.model import LanguageModel
from analysis.results import Target, Tokens
from analysis.scoring import score

By = Literal["deletion", "replacement"]


def leave_one_out(
    lm: LanguageModel,
    tokens: Tokens,
    target: Target,
    foil: Target | None = None,
    *,
    by: By = "deletion",
    groups: Groups | None = None,
    held: Held | None = None,
    report: Report = lambda fraction: None,
) -> LeaveOneOut:
    """s(whole) − s(without) for every token, or for every group of token positions (words, sentences).

    By deletion the later tokens move up; by replacement the filler token (pad, else EOS) stands in the
    place. Held tokens are left out too, and marked. A prompt of which nothing would be left has NaN.
    """
    if foil is not None:
        diverges_at(target, foil)
    groups = tuple((t,) for t in range(len(tokens))) if groups is None else groups
    held = held_tokens(tokens) if held is None else held
    filler = (lm.encoder.filler_id,) if by == "replacement" else ()
    shorter = [_without(tokens.ids, group, filler) for group in groups]
    whole, *without = _values(lm, [tokens.ids, *shorter], target, foil, report)
    scores = whole - np.array(without)
    marked = tuple(all(held[t] for t in group) for group in groups)
    return LeaveOneOut(tokens, target, foil, by, groups, marked, whole, scores)


def deletion_curve(
    lm: LanguageModel,
    tokens: Tokens,
    target: Target,
    scores: Sequence[float] | np.ndarray,
    foil: Target | None = None,
    *,
    magnitude: bool = False,
    orders: int = 10,
    steps: int = 20,
    seed: int = 0,
    held: Held | None = None,
    report: Report = lambda fraction: None,
) -> DeletionCurve:
    """s after deleting the first 0, …, n tokens of a ranking, and of `orders` random ones.

    The largest score [token] goes first: what raises s most, or with `magnitude` what moves it most.
    Equal scores go in reading order, and those that are NaN last. Held tokens stay.
    Errors: AttributionError where no token may be deleted.
    """
    if foil is not None:
        diverges_at(target, foil)
    held = held_tokens(tokens) if held is None else held
    free = np.flatnonzero(~np.array(held))
    if not len(free):
        raise AttributionError("every token of this prompt is held, so there is none to delete")
    size = np.asarray(scores, dtype=float)[free]
    size = np.abs(size) if magnitude else size
    ranked = free[np.argsort(-size, kind="stable")]  # NaN sorts last
    random = np.random.default_rng(seed)
    order_list = [ranked, *(random.permutation(free) for _ in range(orders))]
    removed = np.unique(np.linspace(0, len(free), min(steps, len(free)) + 1).round().astype(int))
    contexts = [_without(tokens.ids, order[:count], ()) for order in order_list for count in removed]
    curves = np.array(_values(lm, contexts, target, foil, report)).reshape(len(order_list), len(removed))
    return DeletionCurve(
        tokens, target, foil, held, tuple(int(t) for t in ranked), removed, curve=curves[0], random=curves[1:]
    )


def _without(ids: Ids, positions: Sequence[int] | np.ndarray, filler: Ids) -> Ids:
    gone = {int(t) for t in positions}
    return tuple(index for t, one in enumerate(ids) for index in (filler if t in gone else (one,)))


def _values(
    lm: LanguageModel, contexts: Sequence[Ids], target: Target, foil: Target | None, report: Report
) -> list[float]:
    """s after every context; NaN for an empty context and where a log-prob is not finite."""
    continuations = [target.ids] if foil is None else [target.ids, foil.ids]
    rows = [(context, ids) for context in contexts if context for ids in continuations]
    sums = iter([float(values.astype(float).sum()) for values in score(lm, rows, report)])
    found = []
    for context in contexts:
        value = next(sums) - (0.0 if foil is None else next(sums)) if context else np.nan
        found.append(value if np.isfinite(value) else np.nan)
    return found
