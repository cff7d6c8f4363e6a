"""Which prompt token matters for which token of the target."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from analysis.attribution_results import TargetTokenMaps
from analysis.charts import grid, token_bars, words
from analysis.charts.look import LOWERS, RAISES, Look
from analysis.charts.token_bars import Piece, View
from analysis.tokens import cells, shown

NUMBERED = 8  # columns; the numbers of more do not fit and stand in the hovers

HOW_TO_READ_MATRIX = """
**Question.** Which part of the prompt does each token of the target depend on?

**Formula.** Gradient × input, ∂ log p(y_k | prompt, y_<k) / ∂e_t · e_t, for target token k and prompt token t. The products
of a row sum to the token's score for the whole target.

**Reading it.** Prompt tokens from top to bottom, target tokens from left to right. Blue raises that target token's
probability, orange lowers it; neutral is 0, and all cells share one scale. Position 0 and template tokens are left out of it.

**How it can mislead.** Every target token is scored with the right tokens before it already written, and these may decide it
alone: the prompt then seems not to matter. The limits of gradient × input hold here too.

**Source.** Shrikumar et al. 2016 (gradient × input).
"""


def target_matrix(maps: TargetTokenMaps, look: Look, view: View = "signed") -> go.Figure:
    """Scores of prompt tokens (rows) for target tokens (columns); the last column of the signed view is their sum.

    A point's customdata is [position of the prompt token, place of the target token], None for the sums.
    """
    scores = np.asarray(
        maps.gradient_x_input if view == "signed" else maps.saliency, dtype=np.float64
    )  # [target, token]
    groups = cells(maps.tokens)
    values, held = token_bars.sums(groups, scores, view)  # [target, cell]
    kept = _largest(values, token_bars.MOST)
    seen = np.abs(values[:, [place for place in kept if not held[place]]])
    top = max([*seen[np.isfinite(seen)].tolist(), token_bars.SMALLEST if view == "signed" else 0.0]) or 1.0
    summed = view == "signed" and len(values) > 1
    pieces = [[Piece(groups[place], float(row[place]), held[place]) for row in values] for place in kept]
    rows = [
        [
            *(_square(piece, view, top, k, maps, len(values) <= NUMBERED) for k, piece in enumerate(line)),
            *([_sum(line, view)] if summed else []),
        ]
        for line in pieces
    ]
    names = [f"{k + 1} {shown(piece)}" for k, piece in enumerate(maps.target.names)]
    return grid.table_figure(
        rows,
        [token_bars.label(line[0], look) for line in pieces],
        names,
        look.diverging if view == "signed" else look.sequential,
        look,
        tail="sum" if summed else "",
        subtitle=f"{_swatches(view)} that target token’s probability",
        title=f"Prompt tokens by target token{token_bars.cut(len(groups))}",
        description=(
            f"Table of scores of {len(kept)} prompt tokens for {len(values)} target tokens, "
            f"from {words.number(float(np.nanmin(scores)))} to {words.number(float(np.nanmax(scores)))} {token_bars.UNITS[view]}."
            if np.isfinite(scores).any()
            else "Table of scores of prompt tokens for target tokens: none could be computed."
        ),
        table={
            "position": [groups[place].tokens.start for place in kept for _ in values],
            "text": [groups[place].name for place in kept for _ in values],
            "target_token": [k for _ in kept for k in range(len(values))],
            "target_text": [piece for _ in kept for piece in maps.target.names],
            "score": values[:, kept].T.ravel().tolist(),
        },
    )


def _largest(values: Float[np.ndarray, "target cell"], most: int) -> list[int]:
    """The cells with the largest scores, in reading order."""
    sizes = np.where(np.isfinite(values), np.abs(values), 0.0).max(axis=0)
    return sorted(np.argsort(-sizes, kind="stable")[:most].tolist())


def _swatches(view: View) -> str:
    raises, lowers = (f'<span style="color:{shade}">■</span>' for shade in (RAISES, LOWERS))
    return f"{raises} raises, {lowers} lowers" if view == "signed" else f"{raises} moves"


def _square(piece: Piece, view: View, top: float, k: int, maps: TargetTokenMaps, numbered: bool) -> grid.Square:
    assert piece.cell is not None
    known = np.isfinite(piece.score)
    share = float(np.clip(piece.score / top, -1.0, 1.0)) if known else 0.0
    value = f"{words.signed(piece.score, 4)} {token_bars.UNITS[view]}" if known else "could not be computed"
    aim = words.brief(maps.target.names[k], 40)
    hover = f"<b>{words.wrapped(piece.cell.name)}</b> at {piece.cell.tokens.start}<br>for {aim}, target token {k + 1}<br>{value}"
    return grid.Square(
        value=None if piece.held or not known else (share + 1) / 2 if view == "signed" else share,
        text=token_bars.number(piece.score, view) if numbered else "",
        hover=hover,
        customdata=(piece.cell.tokens.start, k),
    )


def _sum(line: Sequence[Piece], view: View) -> grid.Square:
    cell = line[0].cell
    assert cell is not None
    text = token_bars.number(sum(piece.score for piece in line), view)
    hover = f"<b>{words.wrapped(cell.name)}</b> at {cell.tokens.start}<br>for the whole target: {text} nats"
    return grid.Square(None, text, hover, (cell.tokens.start, None))
