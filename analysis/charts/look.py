"""How every chart looks: one template, one set of colours, and what a figure says besides its picture.

Show a figure with `st.plotly_chart(figure, theme=None, config=config(...))`: the template is complete,
and Streamlit's own theme would repaint it.
"""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

RAISES = "#2b6cb0"
LOWERS = "#c8641b"
#: Paul Tol's "muted" scheme for the wordings; the two that vanish on black are lighter there.
MUTED = ("#332288", "#88ccee", "#44aa99", "#117733", "#999933", "#ddcc77", "#cc6677", "#882255", "#aa4499")
MUTED_DARK = ("#7467d4", "#88ccee", "#44aa99", "#1f8f45", "#999933", "#ddcc77", "#cc6677", "#b8407c", "#b45aa4")
#: After nine wordings the colours come again with the next marker and dash.
MARKERS = (
    ("circle", "●", "solid"),
    ("square", "■", "dash"),
    ("triangle-up", "▲", "dot"),
    ("triangle-down", "▼", "dashdot"),
    ("cross", "✚", "longdash"),
    ("x", "✖", "longdashdot"),
    ("star", "★", "12px 3px 2px 3px"),
    ("hexagon", "⬢", "2px 6px"),
)
FONT = '"Source Sans", "Source Sans Pro", "Source Sans 3", "Noto Sans", system-ui, sans-serif'

Cell = str | int | float | bool | None


@dataclass(frozen=True)
class Look:
    """The theme and the room: presenter mode has larger type for a projector."""

    dark: bool = False
    presenter: bool = False

    @property
    def ink(self) -> str:
        return "#e8eaed" if self.dark else "#1b2027"

    @property
    def paper(self) -> str:
        return "#14171c" if self.dark else "#ffffff"

    @property
    def raised(self) -> str:
        """The ground of what floats over the paper."""
        return "#1e2229" if self.dark else "#ffffff"

    @property
    def muted(self) -> str:
        """Secondary text, and values that say nothing."""
        return "#a3abb6" if self.dark else "#5b6470"

    @property
    def grid(self) -> str:
        return "#2c323a" if self.dark else "#e3e6eb"

    @property
    def neutral(self) -> str:
        """0 on a colour scale."""
        return "#2a2e35" if self.dark else "#f2f2f2"

    @property
    def grey(self) -> str:
        """Bars that are noise."""
        return "#59616c" if self.dark else "#b4bac3"

    @property
    def size(self) -> int:
        """Of text, in px."""
        return 18 if self.presenter else 13

    @property
    def row(self) -> int:
        """Height of one row of a chart, in px."""
        return 40 if self.presenter else 28

    @property
    def line(self) -> float:
        return 3.5 if self.presenter else 2.5

    @property
    def point(self) -> int:
        return 15 if self.presenter else 11

    @property
    def diverging(self) -> list[list[float | str]]:
        """A colour scale whose middle is 0."""
        return [[0.0, LOWERS], [0.5, self.neutral], [1.0, RAISES]]

    @property
    def sequential(self) -> list[list[float | str]]:
        """A colour scale that starts at 0."""
        return [[0.0, self.neutral], [1.0, RAISES]]


def colour(index: int, look: Look) -> str:
    """Of the row with this index in its set (`Row.index`), whichever other rows are shown."""
    if index == 0:
        return look.ink
    return (MUTED_DARK if look.dark else MUTED)[(index - 1) % len(MUTED)]


def symbol(index: int) -> str:
    return "diamond" if index == 0 else _marker(index)[0]


def dash(index: int) -> str:
    return "solid" if index == 0 else _marker(index)[2]


def key(index: int, look: Look) -> str:
    """The row's mark in its colour, as text for a label."""
    glyph = "◆" if index == 0 else _marker(index)[1]
    return f'<span style="color:{colour(index, look)}">{glyph}</span>'


def _marker(index: int) -> tuple[str, str, str]:
    return MARKERS[(index - 1) // len(MUTED) % len(MARKERS)]


def blend(value: float, scale: Sequence[Sequence[Any]]) -> tuple[int, int, int]:
    """The colour of `value` (0 to 1) on a colour scale, as red, green and blue from 0 to 255."""
    stops = [stop for stop, _ in scale]
    channels = [[int(name[i : i + 2], 16) for _, name in scale] for i in (1, 3, 5)]
    red, green, blue = (round(float(np.interp(value, stops, channel))) for channel in channels)
    return red, green, blue


def text_on(value: float, scale: Sequence[Sequence[Any]]) -> str:
    """Black or white, whichever is easier to read on the colour of `value`."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in np.array(blend(value, scale)) / 255]
    luminance = float(np.dot(linear, (0.2126, 0.7152, 0.0722)))
    return "#ffffff" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.0637 else "#1b2027"


def template(look: Look) -> go.layout.Template:
    small = max(look.size - 1, 12)
    axis = {
        "automargin": True,
        "gridcolor": look.grid,
        "linecolor": look.grid,
        "tickcolor": look.paper,  # unseen: ticks are the gap between labels and plot
        "ticklen": 5,
        "ticks": "outside",
        "tickfont": {"size": small},
        "title": {"font": {"size": small, "color": look.muted}, "standoff": 8},
        "zeroline": False,
    }
    return go.layout.Template(
        layout={
            "font": {"family": FONT, "size": look.size, "color": look.ink},
            "paper_bgcolor": look.paper,
            "plot_bgcolor": look.paper,
            "colorway": MUTED_DARK if look.dark else MUTED,
            "xaxis": axis,
            "yaxis": axis,
            "dragmode": False,  # a finger that scrolls the page over a chart must not zoom it
            "hovermode": "closest",
            "hoverlabel": {
                "align": "left",
                "bgcolor": look.raised,
                "bordercolor": look.muted,
                "font": {"family": FONT, "size": look.size, "color": look.ink},
                "namelength": -1,
            },
            "legend": {
                "orientation": "h",
                "bgcolor": "rgba(0,0,0,0)",
                "font": {"size": small},
                "xref": "container",
                "x": 0.004,
                "xanchor": "left",
                "yref": "container",
                "yanchor": "top",
                "itemclick": False,
                "itemdoubleclick": False,
            },
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": look.muted, "activecolor": look.ink},
            "title": {
                "font": {"size": look.size + 2, "color": look.ink},
                "x": 0.004,
                "xref": "container",
                "xanchor": "left",
                "yref": "container",
                "yanchor": "top",
            },
        }
    )


def figure(
    traces: Sequence[Any],
    look: Look,
    *,
    title: str,
    description: str,
    table: Mapping[str, Sequence[Cell]],
    height: int,
    legend: bool = True,
    subtitle: str = "",
    **layout: Any,
) -> go.Figure:
    """The figure of `traces` with the project's look; `height` is the plot's own, in px.

    `title` and `subtitle` are Plotly's text (escape what users wrote) that fits 420 px, `description` one plain sentence for a screen
    reader, `table` the chart's data by column, as plain text and numbers.
    """
    top = _above(look, legend or bool(subtitle))
    total = height + top + 12
    words = {
        "text": f"<b>{title}</b>",
        "y": 1 - 8 / total,
        "subtitle": {"text": subtitle, "font": {"size": max(look.size - 1, 12), "color": look.muted}},
    }
    data = {name: [_plain(value) for value in column] for name, column in table.items()}
    common = {
        "template": template(look),
        "height": total,
        "margin": {"l": 8, "r": 14, "t": top, "b": 12},
        "showlegend": legend,
        "minreducedheight": 20,  # a plot of one row is lower than Plotly's 64 px, below which it gives up margins
        "meta": {"description": description, "table": data},
        "title": words,
        "legend": {"y": 1 - (2.2 * look.size + 6) / total},
    }
    return go.Figure(list(traces), {**common, **layout})


def _above(look: Look, legend: bool) -> int:
    """Room for the title and a legend of one line, in px."""
    return round(look.size * (4.6 if legend else 2.4)) + 8


def _plain(value: Cell | np.generic) -> Cell:
    """A value that JSON knows: never NaN or infinite."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def describe(chart: go.Figure) -> str:
    """One sentence that says what the chart shows, as plain text."""
    return str(chart.layout.meta["description"])


def data_of(chart: go.Figure) -> str:
    """The chart's data as CSV, texts exactly as they were; empty where a value could not be computed."""
    table = chart.layout.meta["table"]
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(table)
    writer.writerows([_written(value) for value in row] for row in zip(*table.values(), strict=True))
    return out.getvalue()


def _written(value: Cell) -> str:
    if value is None:
        return ""
    return f"{value:.7g}" if isinstance(value, float) else str(value)  # float32 has seven digits


def config(image: Literal["png", "svg"] = "png", name: str = "chart") -> dict[str, Any]:
    """Plotly's settings: few buttons, and the picture that the camera button saves."""
    return {
        "displaylogo": False,
        "responsive": True,
        "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
        "toImageButtonOptions": {"format": image, "filename": name, "scale": 2 if image == "png" else 1},
    }
