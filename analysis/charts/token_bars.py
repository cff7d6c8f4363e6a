"""The score of every token (or word, sentence, line) of one prompt as a bar, in reading order."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from analysis.charts import rows, words
from analysis.charts.look import LOWERS, RAISES, Look
from analysis.tokens import Cell, grouped, shown

View = Literal["signed", "magnitude"]

MOST = 80  # bars; of more cells the largest are drawn, and the rest as one sum
SMALLEST = 0.1  # nats: a map of smaller scores is not blown up to the whole width
LOCKED = ("template", "added")  # roles of tokens that nobody typed
UNITS: dict[View, str] = {"signed": "nats", "magnitude": "nats per unit of embedding"}

HOW_TO_READ_TOKENS = """
**Question.** Which parts of this prompt raise the target's log-prob, and which lower it?

**Formula.** Gradient × input: ∂ log p / ∂e · e. Saliency: ‖∂ log p / ∂e‖, with e the token's embedding. Leave-one-out:
log p with the token − log p without it (deleted, or replaced by a filler). Integrated gradients: the gradient summed along the
straight way from a baseline to the prompt, times the way. A larger unit has the sum of its tokens; in the magnitude view the sum
of their absolute values.

**Reading it.** From top to bottom in reading order; the small number is the token's position. Blue raises the target's
probability, orange lowers it, and the bars start at 0. Grey bars are position 0 and the tokens that a template put in: they often
soak up score and do not set the scale. A hatched map did not converge.

**How it can mislead.** Gradients say what an endless small change would do, not what happens without the token: on small models
they often hardly agree with leave-one-out, so look at the agreement first. Tokens act together; single scores do not add up to
what a phrase does. Saliency has no sign. Removing a token also shifts every later position.

**Source.** Simonyan, Vedaldi & Zisserman 2014 (saliency); Shrikumar et al. 2016 (gradient × input); Sundararajan, Taly & Yan 2017
(integrated gradients); Li, Monroe & Jurafsky 2016 (leave-one-out).
"""


@dataclass(frozen=True)
class Piece:
    """A row of the chart: a cell, or, where `cell` is None, the sum of those that have no row."""

    cell: Cell | None
    score: float  # NaN where it could not be computed
    held: bool
    others: int = 0


def token_bars(
    cells: Sequence[Cell],
    scores: Float[np.ndarray, " token"],
    look: Look,
    view: View = "signed",
    *,
    target: str | None = None,
    foil: str | None = None,
    unit: str | None = None,
    scale: float | None = None,
    converged: bool = True,
) -> go.Figure:
    """Bars of `scores`, one number per token, summed to `cells`; more than 80 cells are cut to the largest.

    `scale` is the score at the edge of the plot where several charts are compared. A point's customdata is
    [position of the cell's first token], or [None] for the sum of the rest.
    """
    values, held = sums(cells, scores, view)
    pieces = largest([Piece(*row) for row in zip(cells, values.tolist(), held, strict=True)], MOST)
    free = [piece.score for piece in pieces if not piece.held and np.isfinite(piece.score)]
    hatch = "" if converged else "/"
    unit = unit or UNITS[view]
    colours = [_colour(piece, view, look) for piece in pieces]
    aim = "the target" if target is None else words.probability(target, foil)
    return rows.row_figure(
        [
            rows.bars([_drawn(piece.score) for piece in pieces], colours, [hatch] * len(pieces), look),
            *_legend(pieces, view, aim, hatch, look),
        ],
        look,
        title=f"Scores in reading order{cut(len(cells))}{', not converged' if hatch else ''}",
        description=_description(pieces, view, unit, aim),
        table={
            "position": [piece.cell.tokens.start if piece.cell else None for piece in pieces],
            "tokens": [len(piece.cell.tokens) if piece.cell else piece.others for piece in pieces],
            "text": [piece.cell.name if piece.cell else "(all others)" for piece in pieces],
            "score": [piece.score for piece in pieces],
            "held": [piece.held for piece in pieces],
        },
        labels=[label(piece, look) for piece in pieces],
        numbers=[number(piece.score, view) for piece in pieces],
        hovers=[_hover(piece, view, unit) for piece in pieces],
        customdata=[[piece.cell.tokens.start if piece.cell else None] for piece in pieces],
        span=span(free, view, SMALLEST if unit == "nats" else 0.0, scale),
        axis=f"score, {unit}",
    )


def sums(
    cells: Sequence[Cell], scores: Float[np.ndarray, "*axes token"], view: View
) -> tuple[Float[np.ndarray, "*axes cell"], list[bool]]:
    """The cells' sums, and which are held: position 0 and template tokens, which are in no other cell's sum."""
    tokens = {0} | {token for cell in cells if cell.role in LOCKED for token in cell.tokens}
    held = [bool(cell.tokens) and all(token in tokens for token in cell.tokens) for cell in cells]
    values = np.asarray(scores, dtype=np.float64)
    free = np.array([token not in tokens for token in range(values.shape[-1])], dtype=bool)
    of_free = grouped(np.where(free, values, 0.0), cells, magnitude=view == "magnitude")
    return np.where(held, grouped(values, cells, magnitude=view == "magnitude"), of_free), held


def cut(of: int) -> str:
    """For a title: that not everything is drawn."""
    return "" if of <= MOST else f", the {MOST} largest of {words.grouped(of)}"


def largest(pieces: Sequence[Piece], most: int) -> list[Piece]:
    """At most `most` of the pieces, those with the largest scores, in their order; then the sum of the others."""
    if len(pieces) <= most:
        return list(pieces)
    sizes = [abs(piece.score) if np.isfinite(piece.score) else 0.0 for piece in pieces]
    kept = set(sorted(range(len(pieces)), key=lambda place: -sizes[place])[:most])
    rest = [piece for place, piece in enumerate(pieces) if place not in kept]
    total = float(sum(piece.score for piece in rest if np.isfinite(piece.score)))
    return [*(pieces[place] for place in sorted(kept)), Piece(None, total, True, others=len(rest))]


def label(piece: Piece, look: Look) -> str:
    """A cell's text and its position, for an axis."""
    if piece.cell is None:
        return f"<i>{words.grouped(piece.others)} others</i>"
    position = str(piece.cell.tokens.start).rjust(3, "\N{FIGURE SPACE}")
    return f'{words.brief(piece.cell.name, 20)} <span style="color:{look.muted}">{position}</span>'


def number(score: float, view: View) -> str:
    if not np.isfinite(score):
        return "unknown"
    return words.number(score) if view == "magnitude" else words.signed(score)


def span(free: Sequence[float], view: View, smallest: float, scale: float | None) -> tuple[float, float]:
    """The axis: 0 inside, both signs visible where there are two."""
    top = scale or max([abs(score) for score in free] + [smallest]) or 1.0
    if view == "magnitude":
        return 0.0, 1.03 * top
    if scale:
        return -1.03 * top, 1.03 * top
    return 1.03 * min([*free, -0.25 * top]), 1.03 * max([*free, 0.25 * top])


def _drawn(score: float) -> float:
    return score if np.isfinite(score) else 0.0


def _colour(piece: Piece, view: View, look: Look) -> str:
    if piece.held:
        return look.grey
    return RAISES if view == "magnitude" or piece.score > 0 else LOWERS


def _legend(pieces: Sequence[Piece], view: View, aim: str, hatch: str, look: Look) -> list[go.Bar]:
    free = [piece.score for piece in pieces if not piece.held]
    signs = [
        (
            f"moves {aim}" if view == "magnitude" else f"raises {aim}",
            RAISES,
            view == "magnitude" or max(free, default=0) > 0,
        ),
        (f"lowers {aim}", LOWERS, view == "signed" and min(free, default=0) < 0),
        ("position 0, template: not in the scale", look.grey, any(piece.held and piece.cell for piece in pieces)),
    ]
    return [rows.entry(name, colour, look, hatch) for name, colour, there in signs if there]


def _hover(piece: Piece, view: View, unit: str) -> str:
    value = "could not be computed" if not np.isfinite(piece.score) else f"{_long(piece.score, view)} {unit}"
    if piece.cell is None:
        return f"<b>{words.grouped(piece.others)} others together</b><br>{value}"
    cell = piece.cell
    last = cell.tokens.stop - 1
    where = f"position {cell.tokens.start}" if len(cell.tokens) < 2 else f"positions {cell.tokens.start}–{last}"
    role = "" if cell.role == "text" else f", {words.escaped(cell.role)}"
    return f"<b>{words.wrapped(cell.name)}</b><br>{value}<br>{where}{role}"


def _long(score: float, view: View) -> str:
    return words.number(score, 4) if view == "magnitude" else words.signed(score, 4)


def _description(pieces: Sequence[Piece], view: View, unit: str, aim: str) -> str:
    known = [piece for piece in pieces if piece.cell and not piece.held and np.isfinite(piece.score)]
    ranked = sorted(known, key=lambda piece: -abs(piece.score))[:3]
    named = ", ".join(f"{shown(piece.cell.name)!r} ({number(piece.score, view)})" for piece in ranked if piece.cell)
    return f"Bar chart of {len(pieces)} scores in reading order, in {unit}; the largest are {named or 'unknown'}."
