"""The published bound, its first-order estimate, and the true change, layer by layer."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Int

from analysis.charts import words
from analysis.charts.layers import (
    Layers,
    Panel,
    band,
    cells,
    layer_figure,
    line,
    magnitude_axis,
    said,
    spread_of,
    wording_line,
)
from analysis.charts.look import Look, colour
from analysis.results import PromptResult
from analysis.taylor import TokenPair, violations
from analysis.text import grouped, shortened

HEIGHT = 260  # px of the plot of bounds, at the usual size of text
COUNTS_HEIGHT = 100
SMALL = 0.003  # of the largest value: estimates below it are let fall off a logarithmic axis

HOW_TO_READ = """
**Question.** How large does the published bound let the change of log p become, and does the true change keep to it?

**Formula.** Per layer l, with h the state of the position that predicts the target and g = ∂ log p(y) / ∂h at the first prompt
of the pair: the bound B = ‖g‖ ‖Δh‖, the first-order (Taylor) estimate T = g·Δh, of which |T| ≤ B always (Cauchy–Schwarz), and
the truth |Δ| = |log p(y|b) − log p(y|a)|, which is the same at every layer. A violation is |Δ| > B + 0.0001.

**Reading it.** The grey area is what the bound allows at that layer. Where |Δ| lies above it, the bound is violated: a cross on
the bound, joined to |Δ|. Over all pairs the lines are means, the band holds the middle 80 % of the bounds, and the bars below
count the pairs that violate the bound. On a logarithmic axis a bound of 0 lies at the bottom.

**How it can mislead.** B bounds T, not Δ. Moving the last token's state at layer l is only one way in which the other wording
acts: at every layer but the last the other tokens differ too, and later layers read them. Two wordings that end in the same
token have Δh = 0 and so B = 0 at layer 0, and any Δ violates it; in chat mode all do. Even at the last layer B is one-sided:
it can fail where the first prompt is very sure of its answer (g ≈ 0) and the second is not; the certified range has no such
gap. A large B is no proof of a large Δ: it is usually many times too large. A mean over pairs hides single violations: see
the bars. A pair is counted in one direction, from the earlier wording to the later; in the other, B is another one.

**Source.** Bound and estimate: Liu & Chu, "Understanding the Prompt Sensitivity", ACL 2026, arXiv 2604.18389, who do not count
violations.
"""


def pair_bound(found: TokenPair, a: PromptResult, b: PromptResult, look: Look, log: bool = True) -> go.Figure:
    """B, |T| and |Δ| of the pair a, b, violations marked; ValueError where the pair has none.

    A point's customdata is [row.index, layer], of b, or of a where b is the reference.
    """
    if found.bound is None or found.taylor is None or found.delta is None or found.violations is None:
        raise ValueError(
            f"{shortened(a.label)} and {shortened(b.label)} have no bound: no gradients, or different targets"
        )
    bound, estimate, truth = found.bound, np.abs(found.taylor), np.full(len(found.bound), abs(found.delta))
    named = b if b.row.index else a
    axis = _axis([bound, truth], estimate, "nats", log)
    lines = [
        f"layer {layer}: B = {said(bound[layer])}, T = {said(float(found.taylor[layer]))}, Δ = {said(found.delta)} nats"
        + (", <b>violated</b>" if found.violations[layer] else "")
        for layer in range(len(bound))
    ]

    def of_pair(values: Layers, name: str, shade: str, **of_line: Any) -> go.Scatter:
        made = wording_line(named, values, look, lines, log=log, name=name, showlegend=True)
        return made.update(line={"color": shade, "dash": "solid", "width": look.line, **of_line})

    area = of_pair(bound, "bound B", look.ink).update(fill="tozeroy", fillcolor=look.grid)
    return layer_figure(
        [
            Panel(
                [
                    area,
                    of_pair(estimate, "|T|", look.muted, dash="dash"),
                    of_pair(truth, "|Δ|", colour(named.row.index, look), width=1.4 * look.line),
                    *_crosses(bound, truth, found.violations, axis, look, log),
                ],
                axis,
                round(HEIGHT * look.size / 13),
            )
        ],
        len(bound) - 1,
        look,
        title=f"Bound and truth: {_pair_name(a, b)}",
        description=_pair_description(found, a, b),
        table={
            "row_a": [a.row.index] * len(bound),
            "row_b": [b.row.index] * len(bound),
            "layer": list(range(len(bound))),
            "bound_nats": cells(bound),
            "taylor_nats": cells(found.taylor),
            "delta_nats": [found.delta] * len(bound),
            "violated": [bool(violated) for violated in found.violations],
        },
    )


def bound_over_pairs(pairs: Sequence[TokenPair], look: Look, log: bool = True) -> go.Figure:
    """Means of B, |T| and |Δ| over the pairs that have them, and how many violate B; ValueError where none has.

    Points have no customdata.
    """
    known = [pair for pair in pairs if pair.bound is not None and pair.taylor is not None and pair.delta is not None]
    if not known:
        raise ValueError("no pair has a bound: there are no gradients, or every pair has two targets")
    bounds = np.stack([pair.bound for pair in known if pair.bound is not None])  # [pair, layer]
    estimate = np.mean([np.abs(pair.taylor) for pair in known if pair.taylor is not None], axis=0)
    truth = np.full(bounds.shape[1], np.mean([abs(pair.delta) for pair in known if pair.delta is not None]))
    mean, (low, high) = bounds.mean(axis=0), spread_of(bounds)
    counts, total = violations(known)
    axis = _axis([mean, high, truth], estimate, "nats, mean over pairs", log)
    size = look.size / 13
    return layer_figure(
        [
            Panel(
                [
                    band(low, high, "80 % of B", look, 10 ** axis["range"][0] if log else None),
                    line(mean, "B", _hovers(mean, "mean bound B"), look, log=log),
                    line(estimate, "|T|", _hovers(estimate, "mean |T|"), look, log=log, color=look.muted, dash="dash"),
                    line(truth, "|Δ|", _hovers(truth, "mean |Δ|"), look, log=log, dash="dot", width=1.4 * look.line),
                ],
                axis,
                round(HEIGHT * size),
            ),
            _counts(counts, total, round(COUNTS_HEIGHT * size), look),
        ],
        bounds.shape[1] - 1,
        look,
        title=f"Bound and truth over {_pairs(total)}",
        description=_description(mean, truth, counts, total),
        table={
            "layer": list(range(len(mean))),
            "pairs": [total] * len(mean),
            "bound_mean_nats": cells(mean),
            "bound_10_percent_nats": cells(low),
            "bound_90_percent_nats": cells(high),
            "taylor_mean_absolute_nats": cells(estimate),
            "delta_mean_absolute_nats": cells(truth),
            "violations": [int(count) for count in counts],
        },
    )


def _axis(values: Sequence[Layers], estimate: Layers, title: str, log: bool) -> dict[str, Any]:
    """An axis for all of `values`, and for the estimate, which passes through 0, where it is not far below them."""
    seen = np.concatenate(values)
    return magnitude_axis(np.concatenate([seen, estimate[estimate > SMALL * seen.max()]]), title, log)


def layer_ranges(layers: Sequence[int]) -> str:
    """Layers in words: "0–2, 5"."""
    runs: list[list[int]] = []
    for layer in layers:
        if runs and layer == runs[-1][-1] + 1:
            runs[-1].append(layer)
        else:
            runs.append([layer])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)


def _crosses(
    bound: Layers, truth: Layers, violated: Bool[np.ndarray, " layer"], axis: dict[str, Any], look: Look, log: bool
) -> list[go.Scatter]:
    """A cross on the bound wherever it is violated, joined to |Δ|; on a logarithmic axis one of 0 lies at the bottom."""
    layers = np.flatnonzero(violated).tolist()
    if not layers:
        return []
    floor = 10 ** axis["range"][0] if log else 0.0
    feet = [max(float(bound[layer]), floor) for layer in layers]
    stems = go.Scatter(
        x=[x for layer in layers for x in (layer, layer, None)],
        y=[y for layer, foot in zip(layers, feet, strict=True) for y in (foot, float(truth[layer]), None)],
        mode="lines",
        line={"color": look.ink, "width": 1.5},
        hoverinfo="skip",
        showlegend=False,
        name="from the bound to the change",
    )
    crosses = go.Scatter(
        x=layers,
        y=feet,
        mode="markers",
        marker={"symbol": "x", "size": look.point - 2, "color": look.ink, "line": {"width": 0}},
        cliponaxis=False,
        hoverinfo="skip",
        name="violated",
    )
    return [stems, crosses]


def _counts(counts: Int[np.ndarray, " layer"], total: int, height: int, look: Look) -> Panel:
    """Bars of the violations at each layer."""
    heights = [int(count) for count in counts]
    bars = go.Bar(
        x=list(range(len(counts))),
        y=heights,
        width=0.7,
        marker={"color": look.ink, "line": {"width": 0}},
        hoverinfo="skip",
        name="violations",
        showlegend=False,
    )
    # Where the nearest point answers, however far, Plotly takes the last bar for the nearest; so unseen marks answer.
    tops = go.Scatter(
        x=list(range(len(counts))),
        y=heights,
        mode="markers",
        marker={"size": 8, "opacity": 0, "color": look.ink},
        hovertext=[
            f"layer {layer}: {grouped(count)} of {_pairs(total)} violate the bound ({100 * count / total:.0f} %)"
            for layer, count in enumerate(heights)
        ],
        hoverinfo="text",
        name="how many",
        showlegend=False,
    )
    most = max(int(counts.max(initial=0)), 1)
    axis = {"title": {"text": "pairs"}, "range": [0, 1.08 * most], "nticks": 4, "dtick": 1 if most < 4 else None}
    return Panel([bars, tops], axis, height, heading=f"violations, of {_pairs(total)}")


def _hovers(values: Layers, name: str) -> list[str]:
    return [f"<b>{name}</b><br>layer {layer}: {said(value)} nats" for layer, value in enumerate(values)]


def _pair_name(a: PromptResult, b: PromptResult) -> str:
    """For a title: the wording alone where the other is the reference."""
    if a.row.index == 0:
        return words.brief(b.label, 18)
    return f"{words.brief(a.label, 10)} → {words.brief(b.label, 10)}"


def _pairs(count: int) -> str:
    return "1 pair" if count == 1 else f"{grouped(count)} pairs"


def _pair_description(found: TokenPair, a: PromptResult, b: PromptResult) -> str:
    assert found.bound is not None
    assert found.violations is not None
    assert found.delta is not None
    layers = np.flatnonzero(found.violations).tolist()
    kept = (
        f"violated at {len(layers)} of {len(found.bound)} layers ({layer_ranges(layers)})"
        if layers
        else "never violated"
    )
    return (
        f"Line chart of the bound on the change of log p from {shortened(a.label)} to {shortened(b.label)}: the change is "
        f"{words.signed(found.delta)} nats, the bound {said(found.bound[0], decimals=2)} at layer 0 and "
        f"{said(found.bound[-1], decimals=2)} at the last, {kept}."
    )


def _description(mean: Layers, truth: Layers, counts: Int[np.ndarray, " layer"], total: int) -> str:
    worst = int(counts.argmax())
    kept = (
        f"most violations are at layer {worst} ({_pairs(int(counts[worst]))}), {grouped(int(counts[-1]))} at the last layer"
        if counts.any()
        else "no pair violates it"
    )
    return (
        f"Line chart of the bound over {_pairs(total)}: its mean is {said(mean[0], decimals=2)} nats at layer 0 and "
        f"{said(mean[-1], decimals=2)} at the last, the mean change is {said(truth[0], decimals=2)} nats; {kept}."
    )
