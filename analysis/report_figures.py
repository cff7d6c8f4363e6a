"""The charts of a report."""

from collections.abc import Callable

import plotly.graph_objects as go

from analysis.charts import deltas, next_tokens, states
from analysis.charts.look import Look
from analysis.dispersion import dispersion, planes
from analysis.results import Analysis


def report_figures(analysis: Analysis, piece: Callable[[int], str]) -> list[tuple[str, go.Figure]]:
    """Headings and figures for `to_html`, in light colours; none where the reference has no trace.

    `piece` gives a token's text by its id (`Encoder.name_of`).
    """
    if analysis.reference.trace is None:
        return []
    look = Look()
    results = [result for result in analysis.prompts if result.trace is not None]
    traces = [result.trace for result in results if result.trace is not None]
    tokens = [(index, piece(index)) for index in next_tokens.leading_tokens(analysis)]
    last = analysis.model.layers
    return [
        ("What each wording changes", deltas.delta_bars(analysis, look)),
        ("What comes next", next_tokens.next_tokens(analysis, tokens, look)),
        ("How far the states are apart", states.distance_by_layer(dispersion(traces), results, look)),
        ("Where the last states lie", states.plane(planes(traces)[last], results, last, last, look)),
    ]
