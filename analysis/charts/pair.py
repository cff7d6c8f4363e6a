"""The scores of two wordings side by side, token by aligned token."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from analysis.attribution_results import PairEffects
from analysis.charts import rows, token_bars, words
from analysis.charts.look import LOWERS, RAISES, Look, colour, symbol
from analysis.results import Tokens

HOW_TO_READ_PAIR = """
**Question.** Do the same tokens have the same effect in both wordings, and what do the new ones do?

**Formula.** Gradient × input of each wording, ∂ log p / ∂e · e, in nats. Tokens are aligned by a diff of the two id sequences;
the number at the right is score in this wording − score in the reference.

**Reading it.** One row per token, in reading order. The diamond is the token's score in the reference, the other mark its score in
this wording; the bar between them is blue where the score rose and orange where it fell. Rows with − are only in the
reference, rows with + only in this wording. The two numbers are the positions.

**How it can mislead.** Equal tokens at other positions are other inputs for the model: a change of score need not be a change of
role. The diff aligns tokens, not meanings. The scores' own limits hold here twice.

**Source.** The stability check after Ghorbani, Abid & Zou, "Interpretation of Neural Networks is Fragile", AAAI 2019.
"""


def pair_change(
    effects: PairEffects,
    reference: Tokens,
    variant: Tokens,
    look: Look,
    index: int | None = None,
    unit: str = "nats",
) -> go.Figure:
    """Both scores of every aligned token, and their change; more than 80 rows are cut to the largest.

    `index` is the variant's `Row.index`, for its colour. A point's customdata is [position in the reference,
    position in the variant], None where there is none.
    """
    kept = _largest(effects, token_bars.MOST)
    pairs = [effects.pairs[row] for row in kept]
    before, after, change = (values[kept] for values in (effects.reference, effects.variant, effects.change))
    # A mark at the edge is to be seen whole.
    seen = [1.06 * float(value) for value in (*before, *after) if np.isfinite(value)]
    mark = colour(index, look) if index is not None else look.paper
    return rows.row_figure(
        [
            _lines(before, after, change > 0, RAISES, "the score rose", look),
            _lines(before, after, change < 0, LOWERS, "the score fell", look),
            _marks(before, "reference", "diamond", look.ink, look),
            _marks(after, "this wording", symbol(index) if index is not None else "circle", mark, look),
        ],
        look,
        title=f"Scores of aligned tokens{token_bars.cut(len(effects.pairs))}",
        description=_description(effects, reference, variant),
        table={
            "reference_position": [i for i, _ in pairs],
            "variant_position": [j for _, j in pairs],
            "text": [_piece(i, j, reference, variant) for i, j in pairs],
            "reference_score": before.tolist(),
            "variant_score": after.tolist(),
            "change": change.tolist(),
        },
        labels=[_label(i, j, reference, variant, look) for i, j in pairs],
        numbers=[_number(i, j, value) for (i, j), value in zip(pairs, change, strict=True)],
        hovers=[
            _hover(pair, _piece(*pair, reference, variant), values, unit)
            for pair, *values in zip(pairs, before, after, change, strict=True)
        ],
        customdata=[[i, j] for i, j in pairs],
        span=token_bars.span(seen, "signed", token_bars.SMALLEST, None),
        axis=f"score, {unit}",
    )


def _largest(effects: PairEffects, most: int) -> list[int]:
    """The rows with the largest changes, or scores where there is no change, in reading order."""
    sizes = np.abs(np.stack([effects.change, effects.reference, effects.variant]))
    known = np.where(np.isfinite(sizes), sizes, 0.0)
    size = np.where(np.isfinite(effects.change), known[0], known[1:].max(axis=0))
    return sorted(np.argsort(-size, kind="stable")[:most].tolist())


def _lines(before: np.ndarray, after: np.ndarray, which: np.ndarray, shade: str, name: str, look: Look) -> go.Scatter:
    x: list[float | None] = []
    y: list[int | None] = []
    for place in np.flatnonzero(which):
        x += [float(before[place]), float(after[place]), None]
        y += [int(place), int(place), None]
    line = {"color": shade, "width": 3 * look.line}
    return go.Scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", name=name, showlegend=bool(x))


def _marks(values: np.ndarray, name: str, shape: str, shade: str, look: Look) -> go.Scatter:
    places = np.flatnonzero(np.isfinite(values))
    return go.Scatter(
        x=values[places].tolist(),
        y=places.tolist(),
        mode="markers",
        marker={"symbol": shape, "color": shade, "size": look.point, "line": {"width": 1.5, "color": look.ink}},
        hoverinfo="skip",
        unselected={"marker": {"opacity": 1}},
        name=name,
    )


def _piece(i: int | None, j: int | None, reference: Tokens, variant: Tokens) -> str:
    if i is not None:
        return reference.pieces[i]
    assert j is not None
    return variant.pieces[j]


def _label(i: int | None, j: int | None, reference: Tokens, variant: Tokens, look: Look) -> str:
    sign = "+ " if i is None else "− " if j is None else ""
    where = f"{i}→{j}" if i is not None and j is not None else str(i if i is not None else j)
    name = words.brief(_piece(i, j, reference, variant), 18)
    return f'{sign}{name} <span style="color:{look.muted}">{where}</span>'


def _number(i: int | None, j: int | None, change: float) -> str:
    if i is None or j is None:
        return "new" if i is None else "gone"
    return words.signed(float(change)) if np.isfinite(change) else "unknown"


def _hover(pair: tuple[int | None, int | None], piece: str, values: Sequence[float], unit: str) -> str:
    before, after, change = (
        f"{words.signed(float(value), 4)} {unit}" if np.isfinite(value) else "could not be computed" for value in values
    )
    lines = [f"<b>{words.wrapped(piece)}</b>"]
    if pair[0] is not None:
        lines.append(f"reference, position {pair[0]}: {before}")
    if pair[1] is not None:
        lines.append(f"this wording, position {pair[1]}: {after}")
    if None not in pair:
        lines.append(f"change: {change}")
    return "<br>".join(lines)


def _description(effects: PairEffects, reference: Tokens, variant: Tokens) -> str:
    alone = len(effects.pairs) - effects.aligned
    known = np.flatnonzero(np.isfinite(effects.change))
    if not known.size:
        return f"Chart of the scores of two wordings: {effects.aligned} tokens in both, {alone} in one only."
    most = int(known[np.abs(effects.change[known]).argmax()])
    text = _piece(*effects.pairs[most], reference, variant)
    return (
        f"Chart of the scores of two wordings: {effects.aligned} tokens in both, {alone} in one only; the score of {text!r} "
        f"changes most, by {words.signed(float(effects.change[most]))}."
    )
