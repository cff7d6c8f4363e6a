"""What charts over layers share: one axis of layers under one or more panels, lines with names at their ends, bands."""

import html
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from analysis.charts import words
from analysis.charts.labels import spread
from analysis.charts.look import Cell, Look, colour, dash, figure, key
from analysis.charts.rows import row_hovers
from analysis.results import PromptResult

NAME = 14  # columns of a line's name
NAMED_LINES = 14  # more names than this do not fit beside the lines
SPREAD = (0.1, 0.9)  # the quantiles that a band spans
HEADING = 2.4  # room over a panel for its heading, in heights of text

Layers = Float[np.ndarray, " layer"]


@dataclass(frozen=True)
class Panel:
    """One picture over the layers. `traces` need no vertical axis of their own: they get the panel's."""

    traces: Sequence[Any]
    axis: Mapping[str, Any]  # Plotly's settings; with a range
    height: int  # px
    heading: str = ""  # Plotly's text
    ends: Sequence[tuple[str, float]] = ()  # names, in Plotly's text, and where their lines end
    shapes: Sequence[Mapping[str, Any]] = field(default_factory=tuple)


def layer_figure(panels: Sequence[Panel], last: int, look: Look, **named: Any) -> go.Figure:
    """Panels above one another over layers 0 … `last`; `named` goes to `look.figure`."""
    heading = HEADING * look.size
    heights = [panel.height + (heading if panel.heading else 0) for panel in panels]
    layout: dict[str, Any] = {}
    notes: list[dict[str, Any]] = []
    shapes: list[dict[str, Any]] = []
    traces = []
    bottom = sum(heights)
    for number, (panel, height) in enumerate(zip(panels, heights, strict=True), start=1):
        bottom -= height
        name = "y" if number == 1 else f"y{number}"
        low, high = bottom / sum(heights), (bottom + panel.height) / sum(heights)
        layout["yaxis" + name[1:]] = {"domain": [low, high], "anchor": "x", "fixedrange": True, **panel.axis}
        traces += [trace.update(yaxis=name) for trace in panel.traces]
        notes += _names(panel, name, look)
        shapes += [{**shape, "yref": shape.get("yref", "y").replace("y", name, 1)} for shape in panel.shapes]
        if panel.heading:
            place = {"xref": "paper", "x": 0, "xanchor": "left", "yref": "paper", "y": high, "yanchor": "bottom"}
            notes.append({**place, "text": panel.heading, "showarrow": False, "font": {"color": look.ink}})
    right = max((words.width(_read(name)) for panel in panels for name, _ in panel.ends), default=0)
    made = figure(
        traces,
        look,
        height=round(sum(heights) + 4 * look.size),
        hoverdistance=-1,  # the nearest point, however far
        xaxis={
            "title": {
                "text": "layer" if look.presenter else f"layer (0: into the first block, {last}: after the final norm)"
            },
            "range": [-0.3, last + 0.3],
            "anchor": "y" if len(panels) == 1 else f"y{len(panels)}",
            "nticks": 8,
        },
        annotations=notes,
        shapes=shapes,
        **layout,
        **named,
    )
    return made.update_layout(margin_r=round(0.6 * look.size * max(right + 1, 11)) if right else 14)


def wording_line(
    result: PromptResult,
    values: Layers,
    look: Look,
    lines: Sequence[str],
    *,
    log: bool = False,
    selected: int | None = None,
    **style: Any,
) -> go.Scatter:
    """A wording's value at every layer, in its colour; `lines` is what a hover says at each.

    A point's customdata is [row.index, layer]; `style` overrides Plotly's settings.
    """
    index = result.row.index
    return go.Scatter(
        **{
            "x": list(range(len(values))),
            "y": drawn(values, log),
            "mode": "lines+markers",  # lines alone report no selection
            "marker": {"color": colour(index, look), "size": 8, "opacity": 0},
            "selected": {"marker": {"opacity": 0}},
            "unselected": {"marker": {"opacity": 0}},
            "line": {
                "color": colour(index, look),
                "width": look.line + (2 if index == selected else 0),
                "dash": dash(index),
            },
            "customdata": [[index, layer] for layer in range(len(values))],
            "hovertext": row_hovers(result, [[line] for line in lines]),
            "hoverinfo": "text",
            "name": words.brief(result.label),
            "showlegend": False,
            **style,
        }
    )


def line(
    values: Layers, name: str, hovers: Sequence[str], look: Look, *, log: bool = False, **style: Any
) -> go.Scatter:
    """A value at every layer that belongs to no wording: a mean, a bound. `name` and `hovers` are Plotly's text."""
    return go.Scatter(
        x=list(range(len(values))),
        y=drawn(values, log),
        mode="lines",
        line={"color": look.ink, "width": look.line, **style},
        hovertext=list(hovers),
        hoverinfo="text",
        name=name,
    )


def band(low: Layers, high: Layers, name: str, look: Look, floor: float | None = None) -> go.Scatter:
    """The area between two lines; nothing under `floor`, where a logarithmic axis ends."""
    known = np.flatnonzero(np.isfinite(low) & np.isfinite(high))
    low, high = (np.maximum(values, -np.inf if floor is None else floor)[known] for values in (low, high))
    return go.Scatter(
        x=[*known.tolist(), *known[::-1].tolist()],
        y=[*high.tolist(), *low[::-1].tolist()],
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillcolor=look.grid,
        hoverinfo="skip",
        name=name,
    )


def spread_of(values: Float[np.ndarray, "some layer"]) -> tuple[Layers, Layers]:
    """The two ends of a band: 10 and 90 % of the values lie below them."""
    with np.errstate(invalid="ignore"):  # infinities give NaN, which is not drawn
        low, high = np.quantile(values, SPREAD, axis=0)
    return low, high


def magnitude_axis(values: np.ndarray, title: str, log: bool) -> dict[str, Any]:
    """The vertical axis of values that are never negative: from 0, or logarithmic."""
    seen = values[np.isfinite(values)]
    if not log:
        return {"title": {"text": title}, "range": [0.0, 1.06 * float(seen.max(initial=0.0)) or 1.0], "nticks": 6}
    low, high = _log_range(seen)
    # Ticks at 1, 2, 5 … where few powers of ten are seen: Plotly's own would write one over the other.
    return {
        "title": {"text": title},
        "type": "log",
        "range": [low, high],
        "tickformat": "~g",
        "dtick": "D2" if high - low < 3 else math.ceil((high - low) / 8),
    }


def end_of(result: PromptResult, values: Layers, look: Look) -> tuple[str, float]:
    """A wording's name for the end of its line."""
    return f"{key(result.row.index, look)} {words.brief(result.label, NAME)}", float(values[-1])


def named(rows: Sequence[tuple[PromptResult, Layers]], selected: int | None) -> list[tuple[PromptResult, Layers]]:
    """The rows whose names stand at the ends of their lines: all, or where they are too many the selected one."""
    return [(result, values) for result, values in rows if len(rows) <= NAMED_LINES or result.row.index == selected]


def drawn(values: Layers, log: bool = False) -> list[float | None]:
    """None where nothing can be drawn: not a number, or no place on a logarithmic axis."""
    return [float(value) if np.isfinite(value) and (value > 0 or not log) else None for value in values]


def said(value: float, unit: str = "", decimals: int = 3) -> str:
    """A value for a hover, with its unit."""
    return f"{words.number(value, decimals)} {unit}".rstrip() if np.isfinite(value) else "could not be computed"


def cells(values: np.ndarray) -> list[Cell]:
    """Values for a table, layers innermost."""
    return [float(value) for value in np.asarray(values).ravel()]


def _log_range(seen: np.ndarray) -> list[float]:
    """Powers of ten around what is there, at least one."""
    seen = seen[seen > 0]
    if not seen.size:
        return [-1.0, 0.0]
    low, high = np.log10(seen.min()), np.log10(seen.max())
    middle, half = (low + high) / 2, max((high - low) / 2, 0.5)
    return [float(middle - 1.05 * half), float(middle + 1.05 * half)]


def _names(panel: Panel, axis: str, look: Look) -> list[dict[str, Any]]:
    """Names at the right ends of the lines, moved apart where they would meet."""
    low, high = panel.axis["range"]
    log = panel.axis.get("type") == "log"
    ends = [(name, value) for name, value in panel.ends if np.isfinite(value) and (value > 0 or not log)]
    if log:
        ends = [(name, float(np.log10(value))) for name, value in ends]
    ends = [(name, min(max(value, low), high)) for name, value in ends]
    scale = panel.height / (high - low)
    wanted = [(value - low) * scale for _, value in ends]
    moved = spread(wanted, 1.25 * look.size, panel.height)
    return [
        {
            "xref": "paper", "x": 1, "xanchor": "left", "xshift": 4, "y": value, "yref": axis, "yshift": there - here,
            "yanchor": "middle", "text": name, "showarrow": False, "align": "left",
            "font": {"size": look.size - 1, "color": look.ink},
        }
        for (name, value), here, there in zip(ends, wanted, moved, strict=True)
    ]  # fmt: skip


def _read(name: str) -> str:
    """Plotly's text without its tags, for its width."""
    return html.unescape(re.sub("<[^>]*>", "", name))
