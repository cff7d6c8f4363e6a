"""The states of the wordings in a plane, layer after layer."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from analysis.charts.distance import View
from analysis.charts.look import Look, figure
from analysis.charts.plane import PLANE_HEIGHT, UNITS, axes, kept, layer_name, spans, table, wordings
from analysis.charts.rows import row_hover
from analysis.dispersion import Plane
from analysis.results import PromptResult
from analysis.similarity import Map

STEP = 700  # ms that a layer is shown while it plays
MOVE = 400  # ms of them that the marks take to their places


def plane_animation(
    pictures: Sequence[Plane | Map],
    results: Sequence[PromptResult],
    look: Look,
    selected: int | None = None,
    start: int | None = None,
    view: View = "raw",
) -> go.Figure:
    """The plane of every layer, as `plane` has it, with a slider and a play button; it opens at layer `start`, by default the last.

    Every layer is scaled so that the mean distance from the middle is 1. A point's customdata is [row.index].
    """
    last = len(pictures) - 1
    shown = last if start is None else start
    scales = [float(np.hypot(*picture.xy.T).mean()) for picture in pictures]
    places = [picture.xy / (scale or 1.0) for picture, scale in zip(pictures, scales, strict=True)]
    ranges = spans(places)
    titles = [f"States at {layer_name(layer, last)}" for layer in range(last + 1)]
    subtitles = [_said(picture, scale, view) for picture, scale in zip(pictures, scales, strict=True)]
    hovers = [row_hover(result) for result in results]
    frames = []
    for layer, xy in enumerate(places):
        ways, points = wordings(xy, results, hovers, ranges, look, selected)
        moved = {name: points[name] for name in ("x", "y", "text", "textposition")}
        title = {"text": f"<b>{titles[layer]}</b>", "subtitle": {"text": subtitles[layer]}}
        frames.append(
            go.Frame(name=str(layer), data=[{"x": ways.x, "y": ways.y}, moved], traces=[0, 1], layout={"title": title})
        )
    made = figure(
        wordings(places[shown], results, hovers, ranges, look, selected),
        look,
        title=titles[shown],
        subtitle=subtitles[shown],
        description=(
            f"Plane of the states of {len(results)} wordings at every layer from 0 to {last}, with a play button: at layer {shown} "
            + (kept(pictures[shown], view) if pictures[shown].xy.any() else "they are all equal")
            + "."
        ),
        table=table(pictures, results, range(last + 1), view),
        height=round((PLANE_HEIGHT + 105) * look.size / 13),
        legend=False,
        **axes(ranges, ["axis 1, in mean distances from the middle", "axis 2"]),
        **_controls(last, shown, look),
    )
    return made.update(frames=frames)


def _controls(last: int, shown: int, look: Look) -> dict[str, Any]:
    """The slider over the layers and, under it, the buttons."""
    # Plotly paints the button under the pointer nearly white, in a dark theme too: so its text is always dark.
    button = {"bgcolor": "#e8eaed", "bordercolor": look.muted, "font": {"color": "#1b2027"}}
    moving = {"mode": "immediate", "transition": {"duration": MOVE}}
    still = {"mode": "immediate", "transition": {"duration": 0}, "frame": {"duration": 0, "redraw": False}}
    steps = [
        {
            "label": str(layer),
            "method": "animate",
            "args": [[str(layer)], {**moving, "frame": {"duration": MOVE, "redraw": True}}],
        }
        for layer in range(last + 1)
    ]
    under = round(3.6 * look.size)
    return {
        "sliders": [
            {
                "steps": steps,
                "active": shown,
                "x": 0,
                "len": 1,
                "pad": {"t": under, "b": 0},
                "currentvalue": {"prefix": "layer ", "font": {"size": look.size, "color": look.ink}, "xanchor": "left"},
                "font": {"size": look.size - 1, "color": look.muted},
                "bgcolor": look.grid,
                "bordercolor": look.muted,
                "activebgcolor": look.muted,
                "tickcolor": look.muted,
            }
        ],
        "updatemenus": [
            {
                **button,
                "type": "buttons",
                "direction": "right",
                "showactive": False,
                "x": 0,
                "xanchor": "left",
                "y": 0,
                "yanchor": "top",
                "pad": {"t": under + round(6.6 * look.size), "r": 8},
                "buttons": [
                    {
                        "label": "Play",
                        "method": "animate",
                        "args": [None, {**moving, "fromcurrent": True, "frame": {"duration": STEP, "redraw": True}}],
                    },
                    {"label": "Pause", "method": "animate", "args": [[None], still]},
                ],
            }
        ],
    }


def _said(picture: Plane | Map, scale: float, view: View) -> str:
    """The line under the title of a layer that is drawn to the size of all."""
    if not picture.xy.any():
        return "all states are equal here"
    how = (
        f"{100 * float(picture.explained.sum()):.0f} % of the spread"
        if isinstance(picture, Plane)
        else f"stress {picture.stress:.2f}"
    )
    return f"{how}; 1 = {scale:.3g} {UNITS[view]}"
