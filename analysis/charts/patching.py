"""Where the difference enters: what happens to log p when the last token's state is exchanged at one layer."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from analysis.charts import words
from analysis.charts.grid import Square
from analysis.charts.heat import heat_figure
from analysis.charts.layers import Layers, Panel, cells, layer_figure, said, wording_line
from analysis.charts.look import Look, colour
from analysis.charts.rows import row_height, row_label
from analysis.patching_results import PatchCurve
from analysis.results import PromptResult
from analysis.text import shortened

HEIGHT = 280  # px of the curve's plot, at the usual size of text
NARROWEST = 0.5  # nats on either side of 0: a curve of 0.03 must look flat
ROOM = 0.3  # of what the curve spans, above and below it

HOW_TO_READ_CURVE = """
**Question.** At which depth does the last token's state come to hold what the other wording changes?

**Formula.** P(l) = log p(y) after the first wording with the last token's state at layer l replaced by the second wording's, minus
log p(y) without that. The earlier tokens stay the first wording's. At the last layer P is Δ exactly. T(l) = g·Δh is the first-order
estimate of P at the same layer.

**Reading it.** Where the curve is at 0, exchanging the state does nothing: what differs is still in the earlier tokens. Where it
has come to Δ, the state alone carries the difference. The band marks the largest step from one layer to the next: in that block the
last token reads from the earlier ones much of what differs. T is drawn where it is near the curve; triangles at the edge
stand for values outside, and the hover has them.

**How it can mislead.** A patched state is one that the model never makes by itself: its last token is the second wording's, all
that it still reads is the first one's. So P can leave the range from 0 to Δ, go up before it goes down, and a step can be one of
an effect that later blocks take back. A largest step there always is, also where the curve rises evenly and no single layer
matters. The curve of the same pair the other way round may jump elsewhere. Where the two last tokens differ, the curve starts
with what that token does.

**Source.** Activation patching: Vig et al., "Investigating Gender Bias in Language Models Using Causal Mediation Analysis",
NeurIPS 2020; Meng et al., "Locating and Editing Factual Associations in GPT", NeurIPS 2022. T as its estimate: Nanda,
"Attribution Patching", 2023.
"""

HOW_TO_READ_HEATMAP = """
**Question.** Do all wordings enter at the same depth?

**Formula.** Each row is a patch curve P(l) of one prompt, the reference or another: the change of log p(y) after it when its last
token's state at layer l is replaced by that of the row's wording, in nats. The last column, and the number at the right, is Δ.

**Reading it.** Blue raises log p(y), orange lowers it, the middle of the scale is 0, and all rows share one scale. The upright mark
in a row is its largest step from one layer to the next. Marks one under the other say that the wordings are read in the same block.

**How it can mislead.** The row with the largest effect sets the scale, so a wording with small effects looks empty: its own curve
shows them. Steps smaller than the model's numeric noise are not marked; those just above it are. A strong colour half-way that is
gone at the end is an effect that later blocks take back. A patched state is one that the model never makes by itself.

**Source.** As for the curve: Vig et al., NeurIPS 2020; Meng et al., NeurIPS 2022.
"""


def patch_curve(
    curve: PatchCurve,
    a: PromptResult,
    b: PromptResult,
    look: Look,
    *,
    target: str,
    taylor: Layers | None = None,
    noise: float = 0.0,
) -> go.Figure:
    """P of a prompt `a` with b's states, T over it where it is given, and Δ; smaller steps than `noise` have no mark.

    `target` is the target token's text. A point's customdata is [row.index, layer], of b, or of a where b is the reference.
    """
    effect, last = curve.effect, len(curve.effect) - 1
    delta, named = float(effect[-1]), b if b.row.index else a
    low, high = _span(effect)
    estimate = np.full(last + 1, np.nan) if taylor is None else taylor
    lines = [
        f"layer {layer}: P = {_signed(effect[layer])} nats"
        + ("" if taylor is None else f", T = {_signed(estimate[layer])}")
        + f", Δ = {_signed(delta)}"
        for layer in range(last + 1)
    ]

    def of_pair(values: Layers, name: str, shade: str, **style: Any) -> go.Scatter:
        made = wording_line(named, values, look, lines, name=name, showlegend=True)
        return made.update(line={"color": shade, "width": look.line, "dash": "solid", **style})

    inside = np.where((estimate >= low) & (estimate <= high), estimate, np.nan)
    traces = [
        of_pair(np.full(last + 1, delta), "Δ", look.muted, dash="dot"),
        *(
            []
            if taylor is None
            else [of_pair(inside, "T, estimate", look.ink, dash="dash"), *_outside(estimate, low, high, look)]
        ),
        of_pair(effect, "P, patched", colour(named.row.index, look), width=look.line + 1.5),
    ]
    jump = _jump(curve, noise)
    zero = {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": 0,
        "y1": 0,
        "line": {"color": look.ink, "width": 1},
    }
    axis = {"title": {"text": f"change of {words.log_probability(target)}, nats"}, "range": [low, high], "nticks": 6}
    return layer_figure(
        [
            Panel(
                traces,
                axis,
                round(HEIGHT * look.size / 13),
                shapes=[{**zero, "layer": "below"}, *([] if jump is None else [_band(jump, look)])],
            )
        ],
        last,
        look,
        title="Patch curve" if jump is None else f"Patch curve: jump between layers {jump} and {jump + 1}",
        description=_description(curve, a, b, jump),
        table={
            "row_a": [a.row.index] * (last + 1),
            "row_b": [b.row.index] * (last + 1),
            "layer": list(range(last + 1)),
            "patched_nats": cells(effect),
            "taylor_nats": cells(estimate),
            "delta_nats": [delta] * (last + 1),
        },
    )


def patch_heatmap(
    curves: Sequence[tuple[PromptResult, PatchCurve]],
    look: Look,
    *,
    target: str,
    noise: float = 0.0,
    selected: int | None = None,
) -> go.Figure:
    """The patch curves of one prompt with the states of each given wording, one row each.

    A point's customdata is [row.index, layer].
    """
    effects = np.array([curve.effect for _, curve in curves], dtype=np.float64)  # [row, layer]
    limit = float(np.abs(effects[np.isfinite(effects)]).max(initial=0.0)) or 1.0
    jumps = [_jump(curve, noise) for _, curve in curves]
    last = effects.shape[-1] - 1
    marked = [(jump + 0.5, place) for place, jump in enumerate(jumps) if jump is not None]
    steps = go.Scatter(
        x=[x for x, _ in marked for _ in range(3)],
        y=[y for _, place in marked for y in (place - 0.45, place + 0.45, None)],
        mode="lines",
        line={"color": look.ink, "width": 2.5 if look.presenter else 2},
        hoverinfo="skip",
        name="largest step",
    )
    return heat_figure(
        [
            [
                Square(
                    value=float(0.5 + value / (2 * limit)) if np.isfinite(value) else None,
                    text="",
                    hover=f"<b>{words.brief(result.label, 40)}</b><br>layer {layer}: P = {_signed(value)} nats",
                    customdata=(result.row.index, layer),
                )
                for layer, value in enumerate(row)
            ]
            for (result, _), row in zip(curves, effects, strict=True)
        ],
        look.diverging,
        {0.0: words.number(-limit, 1), 0.5: "0", 1.0: f"+{words.number(limit, 1)} nats"},
        look,
        row_height=row_height(len(curves), look),
        right=words.column([_signed(row[-1], 2) for row in effects]),
        marks=[steps],
        title=f"Patch curves of log p({words.brief(target, 16)})",
        description=_heatmap_description(curves, jumps),
        table={
            "row": [result.row.index for result, _ in curves for _ in range(last + 1)],
            "label": [result.label for result, _ in curves for _ in range(last + 1)],
            "layer": [layer for _ in curves for layer in range(last + 1)],
            "patched_nats": cells(effects),
        },
        xaxis={"title": {"text": "layer, largest step marked"}, "nticks": 8},
        yaxis={
            "tickvals": list(range(len(curves))),
            "ticktext": [row_label(result, look, selected) for result, _ in curves],
        },
    )


def _jump(curve: PatchCurve, noise: float) -> int | None:
    """The layer before the largest step, where there is one."""
    if not np.isfinite(curve.effect).all() or abs(curve.step) <= noise:
        return None
    return curve.jump


def _span(effect: Layers) -> tuple[float, float]:
    """The vertical axis: what the curve spans, and 0, with room for estimates that are a little off."""
    seen = effect[np.isfinite(effect)]
    low, high = float(seen.min(initial=0.0)), float(seen.max(initial=0.0))
    room = ROOM * (high - low)
    return min(low - room, -NARROWEST), max(high + room, NARROWEST)


def _outside(estimate: Layers, low: float, high: float, look: Look) -> list[go.Scatter]:
    """Triangles at the edges for estimates that lie beyond them."""
    beyond = [(layer, value > high) for layer, value in enumerate(estimate) if value > high or value < low]
    if not beyond:
        return []
    return [
        go.Scatter(
            x=[layer for layer, _ in beyond],
            y=[high if above else low for _, above in beyond],
            mode="markers",
            marker={
                "symbol": ["triangle-up-open" if above else "triangle-down-open" for _, above in beyond],
                "size": look.point - 1,
                "color": look.ink,
                "line": {"width": 1.5, "color": look.ink},
            },
            cliponaxis=False,
            hoverinfo="skip",
            showlegend=False,
            name="T outside",
        )
    ]


def _band(jump: int, look: Look) -> dict[str, Any]:
    band = {"type": "rect", "yref": "paper", "x0": jump, "x1": jump + 1, "y0": 0, "y1": 1}
    return {**band, "fillcolor": look.grid, "opacity": 0.9, "line": {"width": 0}, "layer": "below"}


def _signed(value: float, decimals: int = 3) -> str:
    return words.signed(float(value), decimals) if np.isfinite(value) else said(value)


def _description(curve: PatchCurve, a: PromptResult, b: PromptResult, jump: int | None) -> str:
    step = "it has no clear step"
    if jump is not None:
        step = f"the largest step, {words.signed(curve.step)} nats, is between layers {jump} and {jump + 1}"
    return (
        f"Line chart of the change of log p when the state of {shortened(a.label)} is replaced by that of "
        f"{shortened(b.label)} at one layer: {_signed(curve.effect[0], 2)} nats at layer 0, "
        f"{_signed(curve.effect[-1], 2)} at the last; {step}."
    )


def _heatmap_description(curves: Sequence[tuple[PromptResult, PatchCurve]], jumps: Sequence[int | None]) -> str:
    start = f"Heatmap of the patch curves of {len(curves)} wording{'' if len(curves) == 1 else 's'} by layer"
    known = sorted(jump for jump in jumps if jump is not None)
    if not known:
        return f"{start}: none has a clear step."
    return (
        f"{start}: the largest steps lie between layers {known[0]} and {known[-1] + 1}, the middle one of them after "
        f"layer {known[len(known) // 2]}."
    )
