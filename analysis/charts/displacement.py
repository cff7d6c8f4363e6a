"""How strongly the answer reacts to a layer's state, and how far the other wordings move it."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from analysis.charts.layers import Panel, cells, end_of, layer_figure, magnitude_axis, named, said, wording_line
from analysis.charts.look import Look
from analysis.results import PromptResult

HEIGHT = 170  # px of each panel, at the usual size of text

HOW_TO_READ = """
**Question.** At which layer would a small move of the state change the answer most, and how far do the other wordings move it?

**Formula.** Above: ‖g‖ with g = ∂ log p(y) / ∂h, nats per model unit, h the state of the position that predicts the target.
Below: ‖Δh‖ = ‖h(wording) − h(reference)‖, model units. Their product at a layer, with g of the reference, is the bound B.

**Reading it.** The thick line above is the reference's gradient, thin lines are those of the other wordings. Below, one line per
wording in its colour. On logarithmic axes the two heights add up to that of the bound; a distance of 0 cannot be drawn there.

**How it can mislead.** Both depend on the unit of the states: where a model lets its states grow, ‖Δh‖ rises and ‖g‖ falls for
that reason alone, and the final norm turns it round. A large ‖g‖ says how much the best possible move would change log p, not
the move that another wording makes: most moves are nearly at right angles to g. The gradient of a prompt that is sure of its
answer is near 0 and says nothing about larger moves. Wordings that end in the same token have ‖Δh‖ = 0 at layer 0, in chat mode
all do.

**Source.** Liu & Chu, "Understanding the Prompt Sensitivity", ACL 2026, arXiv 2604.18389.
"""


def gradient_and_displacement(
    gradients: Float[np.ndarray, "prompt layer"],
    distances: Float[np.ndarray, "prompt layer"],
    results: Sequence[PromptResult],
    look: Look,
    log: bool = True,
    selected: int | None = None,
) -> go.Figure:
    """‖g‖ of every row (NaN where it has none), and ‖Δh‖ of every row but the reference; both in the order of `results`.

    A point's customdata is [row.index, layer].
    """
    last = distances.shape[1] - 1
    others = [(result, row) for result, row in zip(results, distances, strict=True) if result.row.index != 0]
    reference = next((place for place, result in enumerate(results) if result.row.index == 0), None)
    upper = [
        wording_line(result, row, look, _said_of(row, "‖g‖", "nats per model unit"), log=log, opacity=0.6).update(
            line_width=3 if result.row.index == selected else 1
        )
        for result, row in zip(results, gradients, strict=True)
        if result.row.index != 0
    ]
    if reference is not None:
        row = gradients[reference]
        hovers = _said_of(row, "‖g‖", "nats per model unit")
        upper.append(wording_line(results[reference], row, look, hovers, log=log).update(line_width=1.6 * look.line))
    lower = [
        wording_line(result, row, look, _said_of(row, "‖Δh‖", "model units"), log=log, selected=selected)
        for result, row in others
    ]
    height = round(HEIGHT * look.size / 13)
    return layer_figure(
        [
            Panel(
                upper,
                magnitude_axis(gradients, "nats per unit", log),
                height,
                heading="‖g‖, the gradient of log p; thick: reference",
                ends=[end_of(results[reference], gradients[reference], look)] if reference is not None else [],
            ),
            Panel(
                lower,
                magnitude_axis(distances, "model units", log),
                height,
                heading="‖Δh‖, distance from the reference",
                ends=[end_of(result, row, look) for result, row in named(others, selected)],
            ),
        ],
        last,
        look,
        title="Gradient and displacement by layer",
        description=_description(gradients, distances, results, reference),
        table={
            "row": [result.row.index for result in results for _ in range(last + 1)],
            "label": [result.label for result in results for _ in range(last + 1)],
            "layer": [layer for _ in results for layer in range(last + 1)],
            "gradient_norm_nats_per_unit": cells(gradients),
            "distance_from_reference_units": cells(distances),
        },
        legend=False,
    )


def _said_of(values: Float[np.ndarray, " layer"], what: str, unit: str) -> list[str]:
    return [f"layer {layer}: {what} = {said(value, unit, 4)}" for layer, value in enumerate(values)]


def _description(
    gradients: Float[np.ndarray, "prompt layer"],
    distances: Float[np.ndarray, "prompt layer"],
    results: Sequence[PromptResult],
    reference: int | None,
) -> str:
    start = "Two line charts by layer"
    own = gradients[reference] if reference is not None else np.zeros(0)
    if np.isfinite(own).any():
        peak = int(np.nanargmax(own))
        start += f": the gradient at the reference is largest at layer {peak} ({said(own[peak])} nats per unit)"
    moved = distances[[place for place, result in enumerate(results) if result.row.index != 0]]
    if not len(moved):
        return f"{start}; there is no other wording."
    mean = moved.mean(axis=0)
    return (
        f"{start}; the mean distance from the reference is {said(mean[0])} at layer 0 and {said(mean[-1])} at layer "
        f"{len(mean) - 1}."
    )
