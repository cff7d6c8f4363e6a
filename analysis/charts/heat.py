"""A table of colours with their scale above it: many cells, most of them without a number."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from analysis.charts.grid import Square, squares
from analysis.charts.look import Look, figure


def heat_figure(
    cells: Sequence[Sequence[Square]],
    scale: list[list[float | str]],
    ticks: Mapping[float, str],
    look: Look,
    *,
    row_height: float,
    gap: int = 1,
    right: Sequence[str] | None = None,
    xaxis: Mapping[str, Any],
    yaxis: Mapping[str, Any],
    marks: Sequence[Any] = (),
    **named: Any,
) -> go.Figure:
    """The figure of a table; cells are at 0, 1, 2, … in both directions, from the top left.

    `ticks` are the words of the colour scale at places from 0 to 1, `right` a column of text at the right end of
    the rows, `marks` further traces. `named` goes to `look.figure`.
    """
    rows, columns = len(cells), max(map(len, cells), default=0)
    heat, *hidden = squares(cells, scale, look)
    small = max(look.size - 1, 12)
    down = {"range": [rows - 0.5, -0.5], "fixedrange": True, "showgrid": False}
    layout: dict[str, Any] = {"yaxis": {**down, **yaxis}}
    if right is not None:
        hidden = [trace.update(yaxis="y2") for trace in hidden]  # an axis without traces would not be drawn
        shown = {"tickvals": list(range(rows)), "ticktext": list(right), "overlaying": "y", "side": "right"}
        layout["yaxis2"] = {**down, **shown}
    made = figure(
        [heat.update(xgap=gap, ygap=gap, showscale=True), *marks, *hidden],
        look,
        height=round(row_height * rows + 3.4 * look.size),
        legend=False,
        subtitle="\N{NO-BREAK SPACE}",  # room for the scale
        hoverdistance=-1,  # the nearest cell
        xaxis={"range": [-0.5, columns - 0.5], "fixedrange": True, "showgrid": False, **xaxis},
        **layout,
        **named,
    )
    bar = {
        "orientation": "h",
        "thickness": 8,
        "lenmode": "pixels",
        "len": 12 * look.size,
        "x": 0.004,
        "xref": "container",
        "xanchor": "left",
        "xpad": round(1.6 * look.size),  # for the first tick
        "y": 1 - (2.2 * look.size + 10) / made.layout.height,
        "yref": "container",
        "yanchor": "top",
        "ypad": 0,
        "outlinewidth": 0,
        "tickvals": list(ticks),
        "ticktext": list(ticks.values()),
        "ticks": "",
        "tickangle": 0,
        "tickfont": {"size": small, "color": look.muted},
    }
    return made.update_traces(colorbar=bar, selector={"type": "heatmap"})
