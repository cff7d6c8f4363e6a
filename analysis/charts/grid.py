"""A table of coloured cells, each with its number: rows down, columns across.

The colour is a heatmap's; the numbers, hovers and clicks belong to markers above it, because a
heatmap reports no selection.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from analysis.charts import words
from analysis.charts.look import Look, figure, text_on
from analysis.charts.rows import row_height

COLUMN = 14  # columns of text of a column's name
LEVEL = 30  # names that are together no longer than this stand level on a 420 px screen


@dataclass(frozen=True)
class Square:
    """One cell. `value` is its place on the colour scale, 0 to 1, or None for no colour."""

    value: float | None
    text: str
    hover: str
    customdata: tuple[Any, ...]
    strong: bool = False  # bold
    boxed: bool = False


def squares(rows: Sequence[Sequence[Square]], scale: list[list[float | str]], look: Look) -> list[Any]:
    """The traces of a table; columns and rows are at 0, 1, 2, …"""
    placed = [(x, y, cell) for y, row in enumerate(rows) for x, cell in enumerate(row)]
    heat = go.Heatmap(
        x=list(range(max(map(len, rows), default=0))),
        y=list(range(len(rows))),
        z=[[cell.value for cell in row] for row in rows],
        zmin=0,
        zmax=1,
        colorscale=scale,
        showscale=False,
        hoverinfo="skip",
        xgap=2,
        ygap=2,
        name="colours",
    )
    # A selection dims what is not selected unless its colour is given, and that is one colour for a trace.
    shades = [look.muted if cell.value is None else text_on(cell.value, scale) for _, _, cell in placed]
    return [
        heat,
        *(
            _marks([spot for spot, own in zip(placed, shades, strict=True) if own == shade], shade, look)
            for shade in dict.fromkeys(shades)
        ),
    ]


def _marks(placed: Sequence[tuple[int, int, Square]], shade: str, look: Look) -> go.Scatter:
    """Numbers in one colour, with unseen markers that answer hovers and clicks."""
    return go.Scatter(
        x=[x for x, _, _ in placed],
        y=[y for _, y, _ in placed],
        mode="markers+text",
        marker={"symbol": "square", "size": look.row - 4, "opacity": 0, "color": look.neutral},
        text=[f"<b>{cell.text}</b>" if cell.strong else cell.text for _, _, cell in placed],
        textfont={"size": look.size - 1, "color": shade},
        customdata=[list(cell.customdata) for _, _, cell in placed],
        hovertext=[cell.hover for _, _, cell in placed],
        hoverinfo="text",
        hoverlabel={"bgcolor": look.raised},
        selected={"marker": {"opacity": 0}, "textfont": {"color": shade}},
        unselected={"marker": {"opacity": 0}, "textfont": {"color": shade}},
        name="cells",
        showlegend=False,
    )


def boxes(rows: Sequence[Sequence[Square]], look: Look) -> list[dict[str, Any]]:
    """Frames around boxed cells, one around neighbours in a column."""
    found = []
    for x in range(max(map(len, rows), default=0)):
        start = None
        for y in range(len(rows) + 1):
            boxed = y < len(rows) and x < len(rows[y]) and rows[y][x].boxed
            if boxed and start is None:
                start = y
            elif not boxed and start is not None:
                found.append({"x0": x - 0.5, "x1": x + 0.5, "y0": start - 0.5, "y1": y - 0.5})
                start = None
    frame = {"type": "rect", "line": {"color": look.ink, "width": 2 if look.presenter else 1.5}, "layer": "above"}
    return [{**frame, **box} for box in found]


def table_figure(
    rows: Sequence[Sequence[Square]],
    row_labels: Sequence[str],
    columns: Sequence[str],
    scale: list[list[float | str]],
    look: Look,
    tail: str = "",
    **named: Any,
) -> go.Figure:
    """The figure of a table; `row_labels` are Plotly's text, `columns` names that are shortened here,
    `tail` the name of a last column that is a sum or a rest.

    `named` goes to `look.figure`.
    """
    names = [words.brief(name, COLUMN) for name in columns] + ([f"<i>{tail}</i>"] if tail else [])
    widths = [min(words.width(name), COLUMN) for name in [*columns, *([tail] if tail else [])]]
    level = max(widths, default=1) * len(widths) <= LEVEL
    above = round(look.size * (1.6 if level else 0.42 * max(widths, default=1) + 1.2))
    made = figure(
        squares(rows, scale, look),
        look,
        height=row_height(len(rows), look) * len(rows) + above,
        legend=False,
        shapes=boxes(rows, look),
        hoverdistance=-1,  # the nearest cell, however wide the cells are
        xaxis={
            "side": "top",
            "range": [-0.5, len(names) - 0.5],
            "tickvals": list(range(len(names))),
            "ticktext": names,
            "tickangle": 0 if level else -45,
            "ticklabeloverflow": "allow",
            "automargin": False,  # it would move the names over the title
            "fixedrange": True,
            "showgrid": False,
        },
        yaxis={
            "range": [len(row_labels) - 0.5, -0.5],
            "tickvals": list(range(len(row_labels))),
            "ticktext": list(row_labels),
            "fixedrange": True,
            "showgrid": False,
        },
        **named,
    )
    beyond = 0 if level else 0.4 * look.size * widths[-1]
    return made.update_layout(margin={"t": made.layout.margin.t + above, "r": round(14 + beyond)})
