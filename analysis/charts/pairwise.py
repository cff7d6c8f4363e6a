"""How far the states of all wordings are from one another at one layer, alike ones side by side."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from analysis.charts import words
from analysis.charts.distance import UNITS_OF_PAIRS, View
from analysis.charts.grid import Square
from analysis.charts.heat import heat_figure
from analysis.charts.look import Look, key
from analysis.charts.plane import layer_name
from analysis.charts.rows import row_label
from analysis.results import PromptResult
from analysis.similarity import order
from analysis.text import shortened

LARGEST = 620  # px of the table's height, at the usual size of text
NUMBERED = 9  # prompts: in larger tables numbers do not fit into the cells on a 420 px screen
MARKED = 20  # prompts: in larger tables the marks of the columns would run together there

HOW_TO_READ = """
**Question.** Which wordings does the model hold to be alike at this layer, and do they form groups?

**Formula.** The distance of the states of every two wordings, of the position that predicts the target: ‖Δh‖ in model units, divided
by the mean norm of the two, or 1 − cos of their angle. Rows and columns are ordered by an average-linkage clustering whose
leaves are turned so that the sum of distances between neighbours is smallest.

**Reading it.** The bluer, the farther, on a scale from 0 to the largest distance here. Squares without colour along the diagonal
are groups of wordings that are alike inside the model. Rows and columns have the same order; the frame is around the
reference's row and column.

**How it can mislead.** The order shows groups even where there are none: look for clear edges. The scale is that of this layer
and this set, so equal colours at two layers are not equal distances. One wording far from all others makes the rest look alike.
Wordings that end in the same token are near in early layers whatever they mean. Near states need not give the same answer.

**Source.** Bar-Joseph, Gifford & Jaakkola, "Fast optimal leaf ordering for hierarchical clustering", 2001.
"""


def distances(
    matrix: Float[np.ndarray, "prompt prompt"],
    results: Sequence[PromptResult],
    layer: int,
    layers: int,
    look: Look,
    view: View = "raw",
    selected: int | None = None,
) -> go.Figure:
    """The table of `matrix` at `layer` of 0 … `layers`, ordered by similarity; `results` are in the order of the matrix.

    A point's customdata is [row.index of the row, row.index of the column].
    """
    places = order(matrix)
    ordered = [results[place] for place in places]
    values = np.asarray(matrix, dtype=np.float64)[np.ix_(places, places)]
    count = len(values)
    most = float(values[np.isfinite(values)].max(initial=0.0))
    decimals = _decimals(most)
    row = min(look.row, LARGEST * look.size / 13 / max(count, 1))
    named = row >= 1.15 * (look.size - 1)
    special = [place for place, result in enumerate(ordered) if result.row.index in (0, selected)]
    shown = range(count) if named else special
    cells = [
        [
            Square(
                value=(value / most if most else 0.0) if np.isfinite(value) else None,
                text=words.number(value, decimals) if count <= NUMBERED and np.isfinite(value) else "",
                hover=_hover(one, other, value, view, decimals),
                customdata=(one.row.index, other.row.index),
            )
            for other, value in zip(ordered, line, strict=True)
        ]
        for one, line in zip(ordered, values, strict=True)
    ]
    return heat_figure(
        cells,
        look.sequential,
        {0.0: "0", 1.0: words.number(most, decimals)} if most else {0.0: "0"},
        look,
        row_height=row,
        gap=1 if count <= MARKED else 0,
        title=f"Pairs at {layer_name(layer, layers)}",
        description=_description(values, ordered, layer_name(layer, layers), view),
        table=_table(np.asarray(matrix), results, layer, view),
        shapes=_frames([place for place, result in enumerate(ordered) if result.row.index == 0], count, look),
        xaxis={
            "title": {"text": UNITS_OF_PAIRS[view]},
            "tickvals": list(range(count)) if count <= MARKED else [],
            "ticktext": [key(result.row.index, look) for result in ordered] if count <= MARKED else [],
            "tickangle": 0,
        },
        yaxis={
            "tickvals": list(shown),
            "ticktext": [row_label(ordered[place], look, selected) for place in shown],
        },
    )


def _decimals(most: float) -> int:
    """As many as make three digits of the largest."""
    return 2 if most == 0 else int(np.clip(2 - np.floor(np.log10(most)), 0, 5))


def _hover(one: PromptResult, other: PromptResult, value: float, view: View, decimals: int) -> str:
    names = f"<b>{words.brief(one.label)}</b><br><b>{words.brief(other.label)}</b>"
    said = words.number(value, decimals + 1) if np.isfinite(value) else "could not be computed"
    return f"{names}<br>{said} ({view})"


def _frames(places: Sequence[int], count: int, look: Look) -> list[dict[str, object]]:
    """Around the row and the column of the reference."""
    frame = {"type": "rect", "line": {"color": look.ink, "width": 2 if look.presenter else 1.5}, "layer": "above"}
    whole = (-0.5, count - 0.5)
    return [
        {**frame, "x0": x0, "x1": x1, "y0": y0, "y1": y1}
        for place in places
        for (x0, x1), (y0, y1) in ((whole, (place - 0.5, place + 0.5)), ((place - 0.5, place + 0.5), whole))
    ]


def _table(
    matrix: Float[np.ndarray, "prompt prompt"], results: Sequence[PromptResult], layer: int, view: View
) -> dict[str, list[str | int | float | bool | None]]:
    """Every pair once, in the set's order."""
    pairs = list(combinations(range(len(results)), 2))
    return {
        "row_a": [results[a].row.index for a, _ in pairs],
        "row_b": [results[b].row.index for _, b in pairs],
        "label_a": [results[a].label for a, _ in pairs],
        "label_b": [results[b].label for _, b in pairs],
        "layer": [layer] * len(pairs),
        view: [float(matrix[pair]) for pair in pairs],
    }


def _description(
    values: Float[np.ndarray, "prompt prompt"], ordered: Sequence[PromptResult], where: str, view: View
) -> str:
    start = f"Table of the {view} distances between the states of {len(ordered)} wordings at {where}"
    pairs = [pair for pair in combinations(range(len(ordered)), 2) if np.isfinite(values[pair])]
    if not pairs:
        return f"{start}: there is no pair."
    if not values.any():
        return f"{start}: they are all equal."
    nearest, farthest = min(pairs, key=lambda pair: values[pair]), max(pairs, key=lambda pair: values[pair])

    def said(pair: tuple[int, int]) -> str:
        names = " and ".join(shortened(ordered[place].label, 40) for place in pair)
        return f"{names} ({words.number(values[pair], _decimals(values[farthest]))})"

    return f"{start}: nearest are {said(nearest)}, farthest {said(farthest)}."
