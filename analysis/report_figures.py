"""The charts of a report."""

from collections.abc import Callable

import plotly.graph_objects as go

from analysis.charts import bounds, certified, deltas, next_tokens, states
from analysis.charts.look import Look
from analysis.dispersion import dispersion, planes
from analysis.remainder import Remainder, remainder
from analysis.results import Analysis
from analysis.taylor import Pair, pairs


def report_figures(analysis: Analysis, piece: Callable[[int], str]) -> list[tuple[str, go.Figure]]:
    """Headings and figures for `to_html`, in light colours; none where the reference has no trace.

    `piece` gives a token's text by its id (`Encoder.name_of`).
    """
    if analysis.reference.trace is None:
        return []
    look = Look()
    results = [result for result in analysis.prompts if result.trace is not None]
    traces = [result.trace for result in results if result.trace is not None]
    meant = [result for result in results if not result.row.is_control]  # controls would distort the means
    found = dispersion([result.trace for result in meant if result.trace is not None])
    tokens = [(index, piece(index)) for index in next_tokens.leading_tokens(analysis)]
    last = analysis.model.layers
    return [
        ("What each wording changes", deltas.delta_bars(analysis, look)),
        ("What comes next", next_tokens.next_tokens(analysis, tokens, look)),
        ("How far the states are apart", states.distance_by_layer(found, meant, look)),
        ("Where the last states lie", states.plane(planes(traces)[last], results, last, last, look)),
        *_bounds(analysis, look),
    ]


def _bounds(analysis: Analysis, look: Look) -> list[tuple[str, go.Figure]]:
    """What the bound allows and what is certain, for the first target token; none without a pair that has a bound."""
    found = pairs(analysis)
    control = [result.row.is_control for result in analysis.prompts]
    tokens = [
        pair.tokens[0]
        for pair in found
        if pair.tokens[0].bound is not None and not (control[pair.a] or control[pair.b])
    ]
    if not tokens or analysis.target is None:
        return []
    reason = next((why for name, why in analysis.model.unavailable if name == "certified bounds"), "")
    compared = [(analysis.prompts[pair.b], pair.tokens[0], _remainder(analysis, pair)) for pair in found if pair.a == 0]
    ranges = certified.certified(
        compared, look, target=analysis.target.names[0], reason=reason, noise=analysis.model.noise_floor
    )
    return [("What the bound allows", bounds.bound_over_pairs(tokens, look)), ("What is certain", ranges)]


def _remainder(analysis: Analysis, pair: Pair) -> Remainder | None:
    a, b, token = analysis.reference.trace, analysis.prompts[pair.b].trace, pair.tokens[0]
    if a is None or b is None or token.delta is None or token.upper is None:
        return None
    return remainder(token.delta, token.upper, a.next_log_probs, b.next_log_probs)
