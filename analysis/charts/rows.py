"""What row charts share: one row each, its name at the left, its number at the right, the whole row clickable."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from analysis.charts import words
from analysis.charts.look import Look, figure, key
from analysis.results import PromptResult

BEGINNING = 160  # characters


def row_label(result: PromptResult, look: Look, selected: int | None = None) -> str:
    """A wording's name with its mark, for an axis; bold where it is the selected one."""
    label = f"{key(result.row.index, look)} {words.brief(result.label)}"
    return f"<b>{label}</b>" if result.row.index == selected else label


def row_hover(result: PromptResult, *lines: str) -> str:
    """What a hover says of a wording: its whole name, the lines given (Plotly's text), the whole text."""
    return "<br>".join([_head(result), *lines, words.wrapped(result.row.prompt.text)])


def row_hovers(result: PromptResult, points: Sequence[Sequence[str]]) -> list[str]:
    """The same for every point of a wording that has many, with the beginning of its text."""
    head, text = _head(result), words.wrapped(result.row.prompt.text, BEGINNING)
    return ["<br>".join([head, *lines, text]) for lines in points]


def _head(result: PromptResult) -> str:
    kind = "" if result.row.kind in ("reference", result.label) else f" · {words.escaped(result.row.kind)}"
    return f"<b>{words.wrapped(result.label)}</b>{kind}"


def bars(values: Sequence[float], colours: Sequence[str], hatches: Sequence[str], look: Look) -> go.Bar:
    """A horizontal bar from 0 for each row; `hatches` are Plotly's pattern shapes, "" for none."""
    return go.Bar(
        orientation="h",
        y=list(range(len(values))),
        x=list(values),
        width=0.62,
        marker={
            "color": list(colours),
            "line": {"width": 1, "color": list(colours)},
            "pattern": _pattern(hatches, colours, look),
        },
        hoverinfo="skip",
        unselected={"marker": {"opacity": 1}},  # the page marks the selection itself
        name="values",
        showlegend=False,
    )


def entry(name: str, colour: str, look: Look, hatch: str = "") -> go.Bar:
    """A legend's entry for bars of this kind; `name` is Plotly's text."""
    marker = {"color": [colour], "line": {"width": 1, "color": [colour]}, "pattern": _pattern([hatch], [colour], look)}
    return go.Bar(x=[None], y=[None], orientation="h", name=name, marker=marker, hoverinfo="skip")


def row_figure(
    traces: Sequence[Any],
    look: Look,
    *,
    labels: Sequence[str],
    numbers: Sequence[str],
    hovers: Sequence[str],
    customdata: Sequence[Sequence[Any]],
    span: tuple[float, float],
    axis: str,
    selected: Sequence[int] = (),
    stretch: float = 1.0,
    **named: Any,
) -> go.Figure:
    """The figure of a row chart with rows 0, 1, 2, … from top to bottom.

    Every row answers hovers and clicks over its whole width. `numbers` stand in a column at the right, whatever
    the width. `span` is the horizontal axis, `axis` its title; the rows in `selected` get a band. `stretch`
    makes rows higher. The rest goes to `look.figure`.
    """
    lowest, highest = span
    places = list(range(len(labels)))
    whole = go.Bar(
        orientation="h",
        y=places,
        base=[lowest] * len(places),
        x=[highest - lowest] * len(places),
        yaxis="y2",
        width=1.0,
        marker={"color": look.paper, "opacity": 0, "line": {"width": 0}},
        customdata=[list(data) for data in customdata],
        hovertext=list(hovers),
        hoverinfo="text",
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
        name="rows",
        showlegend=False,
    )
    vertical = {"range": [len(places) - 0.5, -0.5], "tickvals": places, "fixedrange": True, "showgrid": False}
    return figure(
        [*traces, whole],
        look,
        height=round(stretch * row_height(len(places), look) * len(places)) + round(3.4 * look.size),
        barmode="overlay",
        bargap=0,
        xaxis={
            "title": {"text": axis},
            "range": [lowest, highest],
            "fixedrange": True,
            "zeroline": True,
            "zerolinecolor": look.ink,
            "zerolinewidth": 1,
        },
        yaxis={**vertical, "ticktext": list(labels)},
        yaxis2={**vertical, "ticktext": words.column(numbers), "overlaying": "y", "side": "right"},
        shapes=[_band(place, look) for place in selected],
        **named,
    )


def row_height(count: int, look: Look) -> int:
    """In px; many rows stand closer."""
    return look.row if count <= 24 else round(0.75 * look.row)


def _pattern(hatches: Sequence[str], colours: Sequence[str], look: Look) -> dict[str, Any]:
    return {"shape": list(hatches), "bgcolor": list(colours), "fgcolor": look.paper, "size": 6, "solidity": 0.3}


def _band(place: int, look: Look) -> dict[str, Any]:
    band = {"type": "rect", "xref": "paper", "x0": 0, "x1": 1, "y0": place - 0.5, "y1": place + 0.5}
    return {**band, "fillcolor": look.grid, "opacity": 0.7, "line": {"width": 0}, "layer": "below"}
