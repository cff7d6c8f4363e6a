"""Where the states of the wordings lie: in a plane at one layer, and how far from the reference at every layer."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from analysis.charts import words
from analysis.charts.labels import placed_labels, spread
from analysis.charts.look import Cell, Look, colour, dash, figure, key, symbol
from analysis.charts.rows import row_hover, row_hovers
from analysis.dispersion import Dispersion, Plane
from analysis.results import PromptResult

View = Literal["raw", "relative", "cosine"]

PLANE_HEIGHT = 400
DISTANCE_HEIGHT = 320
NAME = 14  # columns of a line's name
NAMED_LINES = 14  # more names than this do not fit beside the lines
UNITS: dict[View, str] = {
    "raw": "‖h − h(reference)‖, model units",
    "relative": "‖h − h(reference)‖ / mean norm",
    "cosine": "cosine distance from the reference",
}

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

HOW_TO_READ_DISTANCE = """
**Question.** Do the states of wordings that mean the same come together with depth, or drift apart?

**Formula.** The distance of a wording's state from the reference's, layer by layer: ‖h − h_ref‖ in model units; relative,
divided by the mean norm of the two; or 1 − cos of the angle between them. Layer 0 enters the first block, the last layer is
what the output head reads.

**Reading it.** One line per wording in its colour, the thick line is their mean. A line that starts at 0
belongs to a wording that ends in the same token as the reference.

**How it can mislead.** Raw distances grow with the norm of the states and jump at the final norm, so a rise may be one of
scale alone: compare the relative and the cosine view. A few dimensions with very large values may decide the raw and the cosine
view. A large distance is no proof of a different answer. On the logarithmic scale zeros cannot be drawn.

**Source.** Liu & Chu, "Understanding the Prompt Sensitivity", ACL 2026, arXiv 2604.18389.
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


def distance_by_layer(
    dispersion: Dispersion,
    results: Sequence[PromptResult],
    look: Look,
    view: View = "raw",
    log: bool = False,
    selected: int | None = None,
) -> go.Figure:
    """A line per row but the reference, and the mean; `results` are those that `dispersion` was made of, in its order.

    A point's customdata is [row.index, layer].
    """
    distances = np.asarray(getattr(dispersion.from_reference, view), dtype=np.float64)  # [prompt, layer]
    mean = np.asarray(getattr(dispersion.to_reference, view), dtype=np.float64)  # [layer]
    others = [(result, row) for result, row in zip(results, distances, strict=True) if result.row.index != 0]
    last = distances.shape[1] - 1
    lines = [_line(result, row, look, view, log, result.row.index == selected) for result, row in others]
    mean_line = go.Scatter(
        x=list(range(last + 1)),
        y=_drawn(mean, log),
        mode="lines",
        line={"color": look.ink, "width": 2 * look.line},
        hovertext=[
            f"<b>mean of {len(others)}</b><br>layer {layer}: {words.number(v, 4)}" for layer, v in enumerate(mean)
        ],
        hoverinfo="text",
        name="mean",
        opacity=0.85,
    )
    top = float(np.nanmax(np.vstack([distances, mean[None]]), initial=0.0)) or 1.0
    height = round(DISTANCE_HEIGHT * look.size / 13)
    y_range = _log_range(distances) if log else [0.0, 1.06 * top]
    ends = [(f"<b>mean of {len(others)}</b>", float(mean[-1]))] if others else []
    if len(others) <= NAMED_LINES:
        ends += [(f"{key(r.row.index, look)} {words.brief(r.label, NAME)}", float(row[-1])) for r, row in others]
    made = figure(
        [*lines, *([mean_line] if others else [])],
        look,
        title="Distance from the reference by layer",
        description=_distance_description(mean, others, view),
        table={
            "row": [result.row.index for result in results for _ in range(last + 1)],
            "label": [result.label for result in results for _ in range(last + 1)],
            "layer": [layer for _ in results for layer in range(last + 1)],
            **{name: _column(getattr(dispersion.from_reference, name)) for name in ("raw", "relative", "cosine")},
        },
        height=height,
        legend=False,
        hoverdistance=-1,  # the nearest line
        xaxis={
            "title": {"text": f"layer (0: into the first block, {last}: after the final norm)"},
            "range": [-0.3, last + 0.3],
            "nticks": 8,
        },
        yaxis={
            "title": {"text": UNITS[view]},
            "type": "log" if log else "linear",
            "range": y_range,
            "tickformat": "~g" if log else "",
            "nticks": 6,
        },
        annotations=_names(ends, y_range, height - 4 * look.size, log, look),
    )
    widest = max([0, *(min(words.width(result.label), NAME) for result, _ in others[:NAMED_LINES])])
    return made.update_layout(margin_r=round(0.6 * look.size * (max(widest + 2, 10) + 1)) if others else 14)


def layer_name(layer: int, layers: int) -> str:
    """ "layer 0 of 30 (into the first block)": the two ends are named."""
    end = " (into the first block)" if layer == 0 else " (after the final norm)" if layer == layers else ""
    return f"layer {layer} of {layers}{end}"


def _line(
    result: PromptResult, row: Float[np.ndarray, " layer"], look: Look, view: View, log: bool, chosen: bool
) -> go.Scatter:
    index = result.row.index
    return go.Scatter(
        x=list(range(len(row))),
        y=_drawn(row, log),
        mode="lines+markers",  # lines alone report no selection
        marker={"color": colour(index, look), "size": 8, "opacity": 0},
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
        line={"color": colour(index, look), "width": look.line + (2 if chosen else 0), "dash": dash(index)},
        customdata=[[index, layer] for layer in range(len(row))],
        hovertext=row_hovers(
            result, [[f"layer {layer}: {words.number(v, 4)} ({view})"] for layer, v in enumerate(row)]
        ),
        hoverinfo="text",
        name=words.brief(result.label),
    )


def _drawn(values: Float[np.ndarray, " layer"], log: bool) -> list[float | None]:
    return [float(value) if np.isfinite(value) and (value > 0 or not log) else None for value in values]


def _log_range(distances: Float[np.ndarray, "prompt layer"]) -> list[float]:
    """Powers of ten around what is there, at least one."""
    seen = distances[np.isfinite(distances) & (distances > 0)]
    if not seen.size:
        return [-1.0, 0.0]
    low, high = np.log10(seen.min()), np.log10(seen.max())
    middle, half = (low + high) / 2, max((high - low) / 2, 0.5)
    return [float(middle - 1.05 * half), float(middle + 1.05 * half)]


def _range(values: Float[np.ndarray, " prompt"]) -> tuple[float, float]:
    low, high = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    room = 0.12 * (high - low) or 1.0
    return low - room, high + room


def _names(
    ends: Sequence[tuple[str, float]], y_range: Sequence[float], height: float, log: bool, look: Look
) -> list[dict[str, object]]:
    """Names at the right ends of the lines, moved apart where they would meet."""
    if log:
        ends = [(name, float(np.log10(value))) for name, value in ends if value > 0]
    scale = height / (y_range[1] - y_range[0])
    wanted = [(value - y_range[0]) * scale for _, value in ends]
    moved = spread(wanted, 1.25 * look.size, height)
    return [
        {
            "xref": "paper", "x": 1, "xanchor": "left", "xshift": 4, "y": value, "yref": "y", "yshift": there - here,
            "yanchor": "middle", "text": name, "showarrow": False, "align": "left",
            "font": {"size": look.size - 1, "color": look.ink},
        }
        for (name, value), here, there in zip(ends, wanted, moved, strict=True)
    ]  # fmt: skip


def _column(values: Float[np.ndarray, "prompt layer"]) -> list[Cell]:
    return [float(value) for value in np.asarray(values).ravel()]


def _distance_description(
    mean: Float[np.ndarray, " layer"], others: Sequence[tuple[PromptResult, object]], view: View
) -> str:
    if not others:
        return "Line chart of distances from the reference by layer: there is no other wording."
    peak = int(np.argmax(mean))
    return (
        f"Line chart of the {view} distance of {len(others)} wordings' states from the reference by layer: on average "
        f"{words.number(mean[0], 3)} at layer 0, {words.number(mean[-1], 3)} at layer {len(mean) - 1}, most at layer {peak} "
        f"({words.number(mean[peak], 3)})."
    )
