"""How far the states of wordings are from the reference's and from one another, at every layer."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import plotly.graph_objects as go

from analysis.charts.layers import (
    Layers,
    Panel,
    band,
    cells,
    end_of,
    layer_figure,
    line,
    magnitude_axis,
    named,
    said,
    spread_of,
    wording_line,
)
from analysis.charts.look import Cell, Look
from analysis.dispersion import Dispersion
from analysis.results import PromptResult
from analysis.text import grouped

View = Literal["raw", "relative", "cosine"]

HEIGHT = 280  # px of the plot, at the usual size of text
UNITS: dict[View, str] = {
    "raw": "‖h − h(reference)‖, model units",
    "relative": "‖h − h(reference)‖ / mean norm",
    "cosine": "cosine distance from the reference",
}
UNITS_OF_PAIRS: dict[View, str] = {
    "raw": "‖Δh‖, model units",
    "relative": "‖Δh‖ / mean norm of the two",
    "cosine": "cosine distance",
}

HOW_TO_READ_DISTANCE = """
**Question.** Do the states of wordings that mean the same come together with depth, or drift apart?

**Formula.** The distance of a wording's state from the reference's, layer by layer: ‖h − h_ref‖ in model units; relative,
divided by the mean norm of the two; or 1 − cos of the angle between them. Layer 0 enters the first block, the last layer is
what the output head reads. "All pairs" is the mean of the same distance over every two of the wordings, the reference among them.

**Reading it.** One line per wording in its colour, the thick line is their mean. Where all pairs are shown, the dashed
line is their mean and the band holds the middle 80 % of them. A line that starts at 0 belongs to a wording that ends in the same
token as the reference; in chat mode all do, since every prompt ends in the same token of the template.

**How it can mislead.** Raw distances grow with the norm of the states and jump at the final norm, so a rise may be one of
scale alone: compare the relative and the cosine view. A few dimensions with very large values may decide the raw and the cosine
view. A large distance is no proof of a different answer. If the reference is the odd one out, the lines lie above the band, and
the wordings are closer to each other than they seem. On the logarithmic scale zeros cannot be drawn.

**Source.** Liu & Chu, "Understanding the Prompt Sensitivity", ACL 2026, arXiv 2604.18389.
"""


def distance_by_layer(
    dispersion: Dispersion,
    results: Sequence[PromptResult],
    look: Look,
    view: View = "raw",
    log: bool = False,
    selected: int | None = None,
    all_pairs: bool = False,
) -> go.Figure:
    """A line per row but the reference, and the mean; `results` are those that `dispersion` was made of, in its order.

    With `all_pairs` also the mean over all pairs and a band that holds 80 % of them. A point's customdata is
    [row.index, layer].
    """
    distances = np.asarray(getattr(dispersion.from_reference, view), dtype=np.float64)  # [prompt, layer]
    mean = np.asarray(getattr(dispersion.to_reference, view), dtype=np.float64)  # [layer]
    pairs = np.asarray(getattr(dispersion.pairs, view), dtype=np.float64)  # [pair, layer]
    others = [(result, row) for result, row in zip(results, distances, strict=True) if result.row.index != 0]
    lines = [
        wording_line(
            result,
            row,
            look,
            [f"layer {layer}: {said(v, decimals=4)} ({view})" for layer, v in enumerate(row)],
            log=log,
            selected=selected,
        )
        for result, row in others
    ]
    shown_pairs = [*spread_of(pairs), pairs.mean(axis=0)] if all_pairs and len(pairs) > 1 else []  # each [layer]
    axis = magnitude_axis(
        np.vstack([distances, mean, *shown_pairs]), (UNITS_OF_PAIRS if shown_pairs else UNITS)[view], log
    )
    whole = f"mean of {len(others)}"
    several = len(others) > 1
    mean_line = line(mean, "mean", _hovers(mean, whole), look, log=log, width=2 * look.line).update(opacity=0.85)
    traces = [*lines, *([mean_line] if several else [])]
    if shown_pairs:
        low, high, middle = shown_pairs
        name = f"mean of {grouped(len(pairs))} pairs"
        around = band(low, high, "80 % of all pairs", look, 10 ** axis["range"][0] if log else None)
        traces = [around, *traces, line(middle, name, _hovers(middle, name), look, log=log, dash="dash")]
    ends = [(f"<b>{whole}</b>", float(mean[-1]))] if several else []
    ends += [end_of(result, row, look) for result, row in named(others, selected)]
    return layer_figure(
        [Panel(traces, axis, round(HEIGHT * look.size / 13), ends=ends)],
        distances.shape[1] - 1,
        look,
        title="Distance from the reference by layer" if not shown_pairs else "Distances by layer",
        description=_description(mean, others, view, shown_pairs),
        table=_table(dispersion, results, bool(shown_pairs)),
        legend=False,
        subtitle=f"dashed: mean of {grouped(len(pairs))} pairs, 80 % of them in the band" if shown_pairs else "",
    )


def _hovers(values: Layers, name: str) -> list[str]:
    return [f"<b>{name}</b><br>layer {layer}: {said(value, decimals=4)}" for layer, value in enumerate(values)]


def _table(dispersion: Dispersion, results: Sequence[PromptResult], with_pairs: bool) -> dict[str, list[Cell]]:
    """A row for each wording and layer; over all pairs the mean and the ends of the band, with no wording."""
    layers = len(dispersion.to_reference.raw)
    blocks: list[tuple[int | None, str, dict[str, Layers]]] = [
        (r.row.index, r.label, {view: getattr(dispersion.from_reference, view)[place] for view in UNITS})
        for place, r in enumerate(results)
    ]
    if with_pairs:
        of_views = {view: getattr(dispersion.pairs, view) for view in UNITS}
        ends = {view: spread_of(values) for view, values in of_views.items()}
        blocks += [
            (None, "all pairs, mean", {view: values.mean(axis=0) for view, values in of_views.items()}),
            (None, "all pairs, 10 % lie below", {view: low for view, (low, _) in ends.items()}),
            (None, "all pairs, 90 % lie below", {view: high for view, (_, high) in ends.items()}),
        ]
    return {
        "row": [row for row, _, _ in blocks for _ in range(layers)],
        "label": [label for _, label, _ in blocks for _ in range(layers)],
        "layer": [layer for _ in blocks for layer in range(layers)],
        **{view: [value for _, _, values in blocks for value in cells(values[view])] for view in UNITS},
    }


def _description(mean: Layers, others: Sequence[object], view: View, of_pairs: Sequence[Layers]) -> str:
    if not others:
        return "Line chart of distances from the reference by layer: there is no other wording."
    peak = int(np.argmax(mean))
    pairs = (
        f"; over all pairs {said(of_pairs[-1][0])} at layer 0 and {said(of_pairs[-1][-1])} at the last"
        if of_pairs
        else ""
    )
    return (
        f"Line chart of the {view} distance of {len(others)} wordings' states from the reference by layer: on average "
        f"{said(mean[0])} at layer 0, {said(mean[-1])} at layer {len(mean) - 1}, most at layer {peak} "
        f"({said(mean[peak])}){pairs}."
    )
