"""Where the states of the wordings lie in a plane: at one layer, or layer after layer."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from analysis.charts import words
from analysis.charts.labels import placed_labels
from analysis.charts.look import Look, colour, figure, symbol
from analysis.charts.rows import row_hover
from analysis.dispersion import Plane
from analysis.results import PromptResult

PLANE_HEIGHT = 400

HOW_TO_READ_PLANE = """
**Question.** Do wordings that mean the same have similar states inside the model, and which stand apart?

**Formula.** The states h of the position that predicts the target, one per wording, at the chosen layer; the plane is spanned
by their first two principal components. From layer to layer the plane is turned or mirrored (orthogonal Procrustes) so that
points do not jump.

**Reading it.** Each mark is a wording in its colour, the diamond is the reference, thin lines lead to it. Both axes have the same
unit, so distances can be compared in all directions. The axis titles say which share of the spread each direction holds.

**How it can mislead.** What lies outside the plane is not seen: where the two shares add up to little, points that look close
may be far apart. The scale differs from layer to layer; use the distances by layer to compare layers. Near states need not give
the same answer, and far ones may. Two or three wordings always fit into a plane.

**Source.** Principal component analysis; Schönemann, "A generalized solution of the orthogonal Procrustes problem", 1966.
"""


def plane(
    states: Plane, results: Sequence[PromptResult], layer: int, layers: int, look: Look, selected: int | None = None
) -> go.Figure:
    """Marks at the states of `results`, in their order, at `layer` of 0 … `layers`.

    A point's customdata is [row.index].
    """
    x, y = states.xy[:, 0], states.xy[:, 1]
    (x_low, x_high), (y_low, y_high) = _range(x), _range(y)
    height = round(PLANE_HEIGHT * look.size / 13)
    indices = [result.row.index for result in results]
    first = [place for place, index in enumerate(indices) if index in (0, selected)]
    names = [words.brief(result.label, 20) for result in results]
    texts = placed_labels(states.xy, names, (x_high - x_low, y_high - y_low), look, first)
    sizes = [look.point + (5 if index in (0, selected) else 0) for index in indices]
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
            "size": sizes,
            "opacity": 1,
            "line": {"width": [2.5 if index == selected else 1 for index in indices], "color": look.ink},
        },
        text=[text for text, _ in texts],
        textposition=[position for _, position in texts],
        textfont={"size": look.size - 1, "color": look.ink},
        cliponaxis=False,
        customdata=[[index] for index in indices],
        hovertext=[
            row_hover(result, f"{words.number(float(x[place]), 3)}, {words.number(float(y[place]), 3)} model units")
            for place, result in enumerate(results)
        ],
        hoverinfo="text",
        selected={"textfont": {"color": look.ink}},
        unselected={"marker": {"opacity": 1}, "textfont": {"color": look.ink}},
        name="wordings",
    )
    one, two = (f"{100 * share:.0f} %" for share in states.explained)
    equal = not states.xy.any()
    return figure(
        [ways, marks],
        look,
        title=f"States at {layer_name(layer, layers)}",
        description=(
            f"Plane of the states of {len(results)} wordings at {layer_name(layer, layers)}: "
            + (
                "they are all equal."
                if equal
                else f"it holds {100 * float(states.explained.sum()):.0f} % of their spread."
            )
        ),
        table={
            "row": indices,
            "label": [result.label for result in results],
            "layer": [layer] * len(results),
            "x_model_units": x.tolist(),
            "y_model_units": y.tolist(),
        },
        height=height,
        legend=False,
        xaxis={"range": [x_low, x_high], "title": {"text": f"axis 1, model units ({one} of the spread)"}, "nticks": 6},
        yaxis={
            "range": [y_low, y_high],
            "title": {"text": f"axis 2 ({two})"},
            "scaleanchor": "x",
            "scaleratio": 1,
            "nticks": 6,
        },
    )


def layer_name(layer: int, layers: int) -> str:
    """ "layer 0 of 30 (into the first block)": the two ends are named."""
    end = " (into the first block)" if layer == 0 else " (after the final norm)" if layer == layers else ""
    return f"layer {layer} of {layers}{end}"


def _range(values: Float[np.ndarray, " prompt"]) -> tuple[float, float]:
    low, high = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    room = 0.12 * (high - low) or 1.0
    return low - room, high + room
