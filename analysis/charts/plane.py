"""Where the states of the wordings lie in a plane: at one layer, or layer after layer."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from analysis.charts import words
from analysis.charts.distance import View
from analysis.charts.labels import placed_labels
from analysis.charts.look import Cell, Look, colour, figure, symbol
from analysis.charts.rows import row_hover
from analysis.dispersion import Plane
from analysis.results import PromptResult
from analysis.similarity import Map

PLANE_HEIGHT = 400

Ranges = tuple[tuple[float, float], tuple[float, float]]  # of the two axes
UNITS: dict[View, str] = {"raw": "model units", "relative": "mean norms", "cosine": "cosine distance"}

HOW_TO_READ_PLANE = """
**Question.** Do wordings that mean the same have similar states inside the model, and which stand apart?

**Formula.** The states h of the position that predicts the target, one per wording, at a layer. PCA: the plane of their first
two principal components. MDS: points whose distances d are as near as possible to the chosen distance δ of the states; the
stress √(Σ(d − δ)² / Σδ²) says how far off they are. From layer to layer the picture is turned or mirrored (orthogonal Procrustes)
so that points do not jump.

**Reading it.** Each mark is a wording in its colour, the diamond is the reference, thin lines lead to it. Both axes have the same
unit, so distances can be compared in all directions. With PCA the share of the spread says how much of it the plane holds. In
the picture that plays, every layer is drawn to the same size: 1 is the mean distance of the wordings from their middle at
that layer, and the line under the title says how much that is.

**How it can mislead.** What lies outside the plane is not seen: where the share is small, or the stress above 0.2, points that
look close may be far apart. The scale differs from layer to layer, by a factor of a hundred or more; use the distances by layer
to compare layers. In the picture that plays, wordings that keep their places may all have moved apart alike, and the way
between two layers is drawn for the eye: the model has no states there. Near states need not give the same answer, and
far ones may. Two or three wordings always fit into a plane.

**Source.** Principal component analysis; SMACOF: de Leeuw, "Applications of convex analysis to multidimensional scaling", 1977;
Schönemann, "A generalized solution of the orthogonal Procrustes problem", 1966.
"""


def plane(
    states: Plane | Map,
    results: Sequence[PromptResult],
    layer: int,
    layers: int,
    look: Look,
    selected: int | None = None,
    view: View = "raw",
) -> go.Figure:
    """Marks at the states of `results`, in their order, at `layer` of 0 … `layers`; `view` is the distance a map was made of.

    A point's customdata is [row.index].
    """
    ranges = spans([states.xy])
    unit = UNITS[view]
    hovers = [
        row_hover(result, f"{words.number(float(x), 3)}, {words.number(float(y), 3)} {unit}")
        for result, (x, y) in zip(results, states.xy, strict=True)
    ]
    titles = [f"axis 1, {unit}", "axis 2"]
    if isinstance(states, Plane):
        one, two = (f"{100 * share:.0f} %" for share in states.explained)
        titles = [f"axis 1, {unit} ({one} of the spread)", f"axis 2 ({two})"]
    return figure(
        wordings(states.xy, results, hovers, ranges, look, selected),
        look,
        title=f"States at {layer_name(layer, layers)}",
        subtitle="" if isinstance(states, Plane) else kept(states, view),
        description=(
            f"Plane of the states of {len(results)} wordings at {layer_name(layer, layers)}: "
            + (kept(states, view) if states.xy.any() else "they are all equal")
            + "."
        ),
        table=table([states], results, [layer], view),
        height=round(PLANE_HEIGHT * look.size / 13),
        legend=False,
        **axes(ranges, titles),
    )


def wordings(
    xy: Float[np.ndarray, "prompt 2"],
    results: Sequence[PromptResult],
    hovers: Sequence[str],
    ranges: Ranges,
    look: Look,
    selected: int | None,
) -> tuple[go.Scatter, go.Scatter]:
    """The ways from the reference, and the wordings."""
    x, y = xy[:, 0], xy[:, 1]
    (x_low, x_high), (y_low, y_high) = ranges
    indices = [result.row.index for result in results]
    first = [place for place, index in enumerate(indices) if index in (0, selected)]
    names = [words.brief(result.label, 20) for result in results]
    texts = placed_labels(xy, names, (x_high - x_low, y_high - y_low), look, first)
    start = indices.index(0) if 0 in indices else None
    ways = go.Scatter(
        x=[] if start is None else [value for end in x for value in (float(x[start]), float(end), None)],
        y=[] if start is None else [value for end in y for value in (float(y[start]), float(end), None)],
        mode="lines",
        line={"color": look.grid, "width": 1},
        hoverinfo="skip",
        name="from the reference",
    )
    marks = go.Scatter(
        x=x.tolist(),
        y=y.tolist(),
        mode="markers+text",
        marker={
            "symbol": [symbol(index) for index in indices],
            "color": [colour(index, look) for index in indices],
            "size": [look.point + (5 if index in (0, selected) else 0) for index in indices],
            "opacity": 1,
            "line": {"width": [2.5 if index == selected else 1 for index in indices], "color": look.ink},
        },
        text=[text for text, _ in texts],
        textposition=[position for _, position in texts],
        textfont={"size": look.size - 1, "color": look.ink},
        cliponaxis=False,
        ids=[str(index) for index in indices],  # or names would change their marks while they move
        customdata=[[index] for index in indices],
        hovertext=list(hovers),
        hoverinfo="text",
        selected={"textfont": {"color": look.ink}},
        unselected={"marker": {"opacity": 1}, "textfont": {"color": look.ink}},
        name="wordings",
    )
    return ways, marks


def axes(ranges: Ranges, titles: Sequence[str]) -> dict[str, Any]:
    """Two axes with one unit."""
    (x_range, y_range), (one, two) = ranges, titles
    return {
        "xaxis": {"range": list(x_range), "title": {"text": one}, "nticks": 6},
        "yaxis": {"range": list(y_range), "title": {"text": two}, "scaleanchor": "x", "scaleratio": 1, "nticks": 6},
    }


def kept(picture: Plane | Map, view: View) -> str:
    """How true a picture is."""
    if isinstance(picture, Plane):
        return f"it holds {100 * float(picture.explained.sum()):.0f} % of their spread"
    return f"MDS of the {view} distance with a stress of {picture.stress:.2f}"


def table(
    pictures: Sequence[Plane | Map], results: Sequence[PromptResult], layers: Sequence[int], view: View
) -> dict[str, list[Cell]]:
    xy = [point for picture in pictures for point in picture.xy.tolist()]
    unit = UNITS[view].replace(" ", "_")
    return {
        "row": [result.row.index for _ in layers for result in results],
        "label": [result.label for _ in layers for result in results],
        "layer": [layer for layer in layers for _ in results],
        f"x_{unit}": [x for x, _ in xy],
        f"y_{unit}": [y for _, y in xy],
    }


def layer_name(layer: int, layers: int) -> str:
    """ "layer 0 of 30 (into the first block)": the two ends are named."""
    end = " (into the first block)" if layer == 0 else " (after the final norm)" if layer == layers else ""
    return f"layer {layer} of {layers}{end}"


def spans(pictures: Sequence[Float[np.ndarray, "prompt 2"]]) -> Ranges:
    """The ranges of both axes that hold the points of all pictures."""
    xy = np.concatenate(list(pictures))
    return _range(xy[:, 0]), _range(xy[:, 1])


def _range(values: Float[np.ndarray, " point"]) -> tuple[float, float]:
    low, high = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    room = 0.12 * (high - low) or 1.0
    return low - room, high + room
