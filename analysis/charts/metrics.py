"""What the metrics are made of: who says what, the wordings from best to worst, and how many a stable mean needs."""

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from analysis import metrics
from analysis.answer_groups import AnswerGroup
from analysis.charts import rows, words
from analysis.charts.look import LOWERS, RAISES, Look, colour, figure, symbol
from analysis.charts.sampled import HOW_TO_READ_SAMPLED, sampled
from analysis.results import Analysis, PromptResult
from analysis.sensitivity import compared, cps, target_log_probs
from analysis.text import percent, shortened

__all__ = [
    "HOW_TO_READ_GROUPS",
    "HOW_TO_READ_ORDER",
    "HOW_TO_READ_RESAMPLINGS",
    "HOW_TO_READ_SAMPLED",
    "answer_groups",
    "best_to_worst",
    "resamplings",
    "sampled",
]

CURVE_HEIGHT = 260
NARROWEST = 1.0  # nats of an axis of log-probs: a spread of 0.03 must look small
NAMED = 8  # wordings in a hover
EACH = 12  # wordings: of more not every number is written at the axis

HOW_TO_READ_GROUPS = """
**Question.** Which answers are given, after how many wordings, and which of them are right?

**Formula.** Greedy answers that count as the same by the chosen match make one group; its bar is the number of its wordings.

**Reading it.** The largest group first; ◆ is the group of the reference. Blue: right by the chosen way to judge; orange:
wrong; hatched: some are right and some are wrong; grey: nothing is expected. A click selects the group's first wording.

**How it can mislead.** One long blue bar is what one wishes for; one long orange bar is an answer that is stable and wrong. A
match that is too strict makes groups of what means the same ("Paris" and "It is Paris"), one that is too loose joins what
does not. Answers are cut at the limit of tokens. Controls, failed and repeated wordings are left out.

**Source.** Greedy decoding; how answers are compared is said beside the chart.
"""

HOW_TO_READ_ORDER = """
**Question.** How good is the best wording, how bad is the worst, and what can one expect of any of them?

**Formula.** log p(target | wording), summed over the target's tokens, in nats. Spread = best − worst. Combined performance
score CPS = (1 − (max − mean)) · max of p(target).

**Reading it.** A dot per wording, the likeliest at the top; the dashed line is the mean of log p. The axis never shows less
than 1 nat, so that a small spread looks small.

**How it can mislead.** Best and worst move apart the more wordings there are: compare spreads of equal numbers of wordings.
The mean of log p is pulled down by one bad wording; the mean of p hardly is. A target that is unlikely after every wording
has a spread too, and it says little about the answer. Controls, other targets and repeated wordings are left out.

**Source.** FormatSpread: Sclar et al., ICLR 2024; CPS: Mizrahi et al., "State of What Art?", TACL 2024.
"""

HOW_TO_READ_RESAMPLINGS = """
**Question.** How many of these wordings must be asked for a mean that hardly depends on which ones were asked?

**Formula.** Half width z · s/√n · √((N − n)/(N − 1)) of the mean of n wordings out of N, drawn without replacement; s is the
standard deviation of p(target) over the N, z the normal quantile (1.96 for 95 %).

**Reading it.** The curve falls to 0 at n = N. Where it comes under the dashed line, the mean of n wordings is near enough to
that of all N, as often as the title says: that n is marked.

**How it can mislead.** It is about the mean over *these* wordings. For all wordings that could be written there is no N to
fall to 0 at, so more are needed (the hover of the marked point says how many). The normal quantile is an approximation for
few wordings, and s itself is only as good as the wordings are varied.

**Source.** ReliableEval, EMNLP Findings 2025; sampling from a finite population.
"""


def answer_groups(
    found: Sequence[AnswerGroup], analysis: Analysis, look: Look, selected: int | None = None
) -> go.Figure:
    """A bar per group of answers, as long as its number of wordings. A point's customdata is [row.index of its first]."""
    total = sum(len(group.places) for group in found)
    indices = [[analysis.prompts[place].row.index for place in group.places] for group in found]
    shades = [_shade(group, look) for group in found]
    hatches = ["/" if group.judged and group.all_right is None else "" for group in found]
    entries = [
        ("right", RAISES, "", any(group.all_right is True for group in found)),
        ("wrong", LOWERS, "", any(group.all_right is False for group in found)),
        ("some right, some wrong", look.muted, "/", any(hatches)),
        ("nothing expected", look.grey, "", any(not group.judged for group in found)),
    ]
    return rows.row_figure(
        [
            rows.bars([len(group.places) for group in found], shades, hatches, look),
            *(rows.entry(name, shade, look, hatch) for name, shade, hatch, there in entries if there),
        ],
        look,
        title=f"Answers to {total} wordings",
        description=_groups_description(found, total),
        table={
            "answer": [group.name for group in found],
            "wordings": [len(group.places) for group in found],
            "right": [group.right if group.judged else None for group in found],
            "rows": [" ".join(map(str, numbers)) for numbers in indices],
            "text": [group.text for group in found],
        },
        labels=[_group_label(group, selected in numbers) for group, numbers in zip(found, indices, strict=True)],
        numbers=[str(len(group.places)) for group in found],
        hovers=[_group_hover(group, analysis) for group in found],
        customdata=[[numbers[0]] for numbers in indices],
        span=(0.0, max([1.0, *(float(len(group.places)) for group in found)]) * 1.03),
        axis="wordings",
        selected=[place for place, numbers in enumerate(indices) if selected in numbers],
    ).update_xaxes(tickformat="d", dtick=max(1, math.ceil(max((len(group.places) for group in found), default=1) / 6)))


def _groups_description(found: Sequence[AnswerGroup], total: int) -> str:
    if not found:
        return "Bar chart of different answers: there is none to compare."
    most = f"{shortened(found[0].name, 60)} after {len(found[0].places)} of them"
    return f"Bar chart of {len(found)} different answers to {total} wordings: {most}."


def _shade(group: AnswerGroup, look: Look) -> str:
    if not group.judged:
        return look.grey
    return {True: RAISES, False: LOWERS, None: look.muted}[group.all_right]


def _group_label(group: AnswerGroup, selected: bool) -> str:
    label = f"{'◆ ' if group.reference else ''}{words.brief(group.name)}"
    return f"<b>{label}</b>" if selected else label


def _group_hover(group: AnswerGroup, analysis: Analysis) -> str:
    names = [words.brief(analysis.prompts[place].label, 40) for place in group.places]
    more = [f"and {len(names) - NAMED} more"] if len(names) > NAMED else []
    judged = [f"{group.right} of {group.judged} right"] if group.judged else []
    text = words.wrapped(group.text, 400) if group.text else "ends at once"
    count = f"{len(names)} wording{'s' if len(names) > 1 else ''}"
    return "<br>".join([f"<b>{words.wrapped(group.name, 200)}</b>", count, *judged, *names[:NAMED], *more, text])


def best_to_worst(analysis: Analysis, look: Look, selected: int | None = None) -> go.Figure:
    """log p(target) of the compared wordings in falling order, with their mean. A point's customdata is [row.index]."""
    places = compared(analysis).places
    log_probs = target_log_probs(analysis, places)
    order = np.argsort(-log_probs, kind="stable").tolist()
    results = [analysis.prompts[places[place]] for place in order]
    values = [float(log_probs[place]) for place in order]
    finite = [value for value in values if np.isfinite(value)]
    mean = float(np.mean(finite)) if finite else 0.0
    low, high = _wide(min(finite, default=-1.0), max(finite, default=0.0))
    target = analysis.target.text if analysis.target else "target"
    dots = go.Scatter(
        x=[value if np.isfinite(value) else None for value in values],
        y=list(range(len(values))),
        mode="markers",
        marker={
            "size": look.point,
            "color": [colour(result.row.index, look) for result in results],
            "symbol": [symbol(result.row.index) for result in results],
        },
        hoverinfo="skip",
        unselected={"marker": {"opacity": 1}},
        name="wordings",
        showlegend=False,
    )
    line = go.Scatter(
        x=[mean, mean],
        y=[-0.5, len(values) - 0.5],
        mode="lines",
        line={"color": look.muted, "width": look.line, "dash": "dash"},
        hoverinfo="skip",
        name=f"mean {words.number(mean)}{_figures(finite)}",
    )
    return rows.row_figure(
        [line, dots] if finite else [dots],
        look,
        title=f"{words.log_probability(target)} from best to worst",
        description=_order_description(results, values, mean, target),
        table={
            "row": [result.row.index for result in results],
            "label": [result.label for result in results],
            "log_prob_nats": values,
            "text": [result.row.prompt.text for result in results],
        },
        labels=[rows.row_label(result, look, selected) for result in results],
        numbers=[percent(value) if np.isfinite(value) else "unknown" for value in values],
        hovers=[
            rows.row_hover(result, f"log p = {words.number(value, 3)} nats, {place + 1} of {len(values)}")
            for place, (result, value) in enumerate(zip(results, values, strict=True))
        ],
        customdata=[[result.row.index] for result in results],
        span=(low, high),
        axis="log p(target), nats",
        selected=[place for place, result in enumerate(results) if result.row.index == selected],
    )


def _figures(log_probs: Sequence[float]) -> str:
    """What else the order says, for the legend."""
    if len(log_probs) < 2:
        return ""
    score = cps(np.exp(np.array(log_probs)))
    return f", spread {words.number(max(log_probs) - min(log_probs))}, CPS {words.number(score)}"


def _wide(low: float, high: float) -> tuple[float, float]:
    """An axis of at least one nat around the values, with room for their marks."""
    middle, half = (low + high) / 2, max((high - low) / 2, NARROWEST / 2) * 1.08
    return middle - half, middle + half


def _order_description(results: Sequence[PromptResult], values: Sequence[float], mean: float, target: str) -> str:
    start = f"Dots of log p({shortened(target, 40)}) of {len(values)} wordings"
    if len(values) < 2:
        return f"{start}: there is nothing to compare."
    return (
        f"{start}: from {words.number(values[0])} nats ({shortened(results[0].label, 40)}) to {words.number(values[-1])} nats "
        f"({shortened(results[-1].label, 40)}), mean {words.number(mean)}."
    )


def resamplings(analysis: Analysis, look: Look, epsilon: float = 0.05, delta: float = 0.05) -> go.Figure:
    """Half width of the mean of p(target) against the number of wordings asked, with the needed number marked."""
    scores = np.exp(target_log_probs(analysis, compared(analysis).places))
    count = len(scores)
    widths = metrics.half_widths(scores, delta)
    needed = metrics.resamplings(scores, epsilon, delta)
    of_all = metrics.resamplings_of_many(scores, epsilon, delta)
    n = list(range(1, count + 1))
    often = f"{100 * (1 - delta):.0f} %"
    curve = go.Scatter(
        x=n,
        y=widths.tolist() if needed else [None] * count,
        mode="lines+markers",
        line={"color": RAISES, "width": look.line},
        marker={"color": RAISES, "size": max(look.point - 5, 4)},
        hovertext=[
            f"<b>{k} of {count} wordings</b><br>±{words.number(float(w), 4)} in {often} of draws"
            for k, w in zip(n, widths, strict=True)
        ],
        hoverinfo="text",
        cliponaxis=False,
        name="half width",
    )
    limit = go.Scatter(
        x=[0.5, count + 0.5],
        y=[epsilon, epsilon],
        mode="lines",
        line={"color": look.muted, "width": look.line, "dash": "dash"},
        hoverinfo="skip",
        name=f"±{epsilon:g}",
    )
    marked = []
    if needed:
        more = "" if of_all is None else f"<br>about {of_all} for the mean of all wordings that could be written"
        marked = [
            go.Scatter(
                x=[needed],
                y=[float(widths[needed - 1])],
                mode="markers",
                marker={
                    "symbol": "circle-open",
                    "size": look.point + 6,
                    "color": look.ink,
                    "line": {"width": look.line},
                },
                hovertext=[f"<b>{needed} of {count} wordings</b> are enough for ±{epsilon:g}{more}"],
                hoverinfo="text",
                cliponaxis=False,  # the last n lies on the axis
                name=f"needed: {needed}",
            )
        ]
    top = max([float(w) for w in widths if np.isfinite(w)] + [2 * epsilon]) * 1.08
    return figure(
        [curve, limit, *marked],
        look,
        title=f"Wordings for a mean within ±{epsilon:g} in {often}",
        description=(
            f"Curve of the half width of the mean of p(target) for 1 to {count} wordings: {needed} are needed for ±{epsilon:g}."
            if needed
            else "Curve of the half width of the mean of p(target): at least two wordings are needed."
        ),
        table={"wordings": n, "half_width": widths.tolist(), "enough": [bool(needed and k >= needed) for k in n]},
        height=round(CURVE_HEIGHT * look.size / 13),
        hoverdistance=-1,
        xaxis={
            "title": {"text": f"wordings asked, of {count}"},
            "range": [0.5, max(count, 2) + 0.5],
            "fixedrange": True,
            **({"dtick": 1} if count <= EACH else {"nticks": 8}),
        },
        yaxis={"title": {"text": "± of mean p(target)"}, "range": [0, top], "fixedrange": True, "nticks": 6},
    )
