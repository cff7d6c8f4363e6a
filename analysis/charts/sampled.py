"""How often a wording is answered right when the model samples, beside its greedy answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from analysis.answers_match import Match, is_expected
from analysis.charts import rows
from analysis.charts.look import LOWERS, RAISES, Look, colour, symbol
from analysis.results import Analysis, Answer, PromptResult
from analysis.text import shortened

if TYPE_CHECKING:
    from analysis.sampling import Share  # whose module loads torch

HOW_TO_READ_SAMPLED = """
**Question.** Deployed models sample: how often is each wording answered right then, and does the greedy answer tell?

**Formula.** The share of k samples at the chosen temperature T that are right, each token drawn from softmax(logits / T). The
line is the 95 % interval of the true share by Wilson's score.

**Reading it.** A mark per wording in its colour at its share, with the interval; the triangle stands at 1 where the greedy
answer is right (blue) and at 0 where it is wrong (orange). Wordings whose intervals do not overlap differ by more than
chance.

**How it can mislead.** A greedy answer that is right can be right in half of the samples only, and the other way round. With
few samples the intervals are wide: 10 of 10 is compatible with a true share of 72 %. Of many wordings some pairs of intervals
lie apart by chance. What counts as right is the chosen match: a long answer that mentions the expected one may not mean it.

**Source.** Wilson, "Probable inference, the law of succession, and statistical inference", 1927.
"""


def sampled(
    analysis: Analysis,
    shares: Sequence[Share | None],
    answers: Sequence[Answer | None] | None,
    look: Look,
    temperature: float,
    correct: Match = "contains",
    selected: int | None = None,
) -> go.Figure:
    """The share of right samples of each prompt that expects something; `shares` and `answers` have one entry per prompt.

    A point's customdata is [row.index].
    """
    drawn = [
        (result, share, _greedy(result, answers[place] if answers else None, correct))
        for place, (result, share) in enumerate(zip(analysis.prompts, shares, strict=True))
        if share is not None
    ]
    places = list(range(len(drawn)))
    known = [share for _, share, _ in drawn]
    dots = go.Scatter(
        x=[share.share for share in known],
        y=places,
        mode="markers",
        marker={
            "size": look.point,
            "color": [colour(result.row.index, look) for result, _, _ in drawn],
            "symbol": [symbol(result.row.index) for result, _, _ in drawn],
        },
        hoverinfo="skip",
        unselected={"marker": {"opacity": 1}},
        name="share of samples",
        showlegend=False,
    )
    bars = go.Scatter(
        x=[x for share in known for x in (share.low, share.high, None)],
        y=[y for place in places for y in (place, place, None)],
        mode="lines",
        line={"color": look.muted, "width": look.line},
        hoverinfo="skip",
        name="95 % interval",
        showlegend=False,
    )
    greedy = [
        go.Scatter(
            x=[1.0 if right else 0.0 for place in places if drawn[place][2] is right],
            y=[place for place in places if drawn[place][2] is right],
            mode="markers",
            marker={
                "symbol": "triangle-left-open" if right else "triangle-right-open",
                "size": look.point,
                "color": RAISES if right else LOWERS,
                "line": {"width": look.line},
            },
            hoverinfo="skip",
            unselected={"marker": {"opacity": 1}},
            name=f"greedy {'right' if right else 'wrong'}",
        )
        for right in (True, False)
        if any(one is right for _, _, one in drawn)
    ]
    return rows.row_figure(
        [bars, dots, *greedy],
        look,
        title=f"Right answers at temperature {temperature:g}",
        description=_description(drawn, temperature),
        table={
            "row": [result.row.index for result, _, _ in drawn],
            "label": [result.label for result, _, _ in drawn],
            "right": [share.right for share in known],
            "samples": [share.count for share in known],
            "share": [share.share for share in known],
            "low": [share.low for share in known],
            "high": [share.high for share in known],
            "greedy_right": [one for _, _, one in drawn],
        },
        labels=[rows.row_label(result, look, selected) for result, _, _ in drawn],
        numbers=[f"{share.right} of {share.count}" for share in known],
        hovers=[_hover(result, share, right) for result, share, right in drawn],
        customdata=[[result.row.index] for result, _, _ in drawn],
        span=(-0.05, 1.05),
        axis="share right, with 95 % interval",
        selected=[place for place in places if drawn[place][0].row.index == selected],
    ).update_xaxes(tickvals=[0, 0.5, 1], ticktext=["0 %", "50 %", "100 %"], zeroline=False)


def _greedy(result: PromptResult, answer: Answer | None, correct: Match) -> bool | None:
    if answer is None or not result.row.expected:
        return None
    return is_expected(answer, result.row.expected, correct)


def _hover(result: PromptResult, share: Share, right: bool | None) -> str:
    greedy = {True: "the greedy answer is right", False: "the greedy answer is wrong", None: "no greedy answer yet"}[
        right
    ]
    interval = f"95 %: {100 * share.low:.0f} % to {100 * share.high:.0f} %"
    return rows.row_hover(result, f"{share.right} of {share.count} samples right ({interval})", greedy)


def _description(drawn: Sequence[tuple[PromptResult, Share, bool | None]], temperature: float) -> str:
    start = f"Shares of right samples at temperature {temperature:g} of {len(drawn)} wordings"
    if not drawn:
        return f"{start}: no wording says which answer is expected."
    lowest, highest = (chosen(drawn, key=lambda one: one[1].share) for chosen in (min, max))
    ends = [f"{100 * share.share:.0f} % ({shortened(result.label, 40)})" for result, share, _ in (lowest, highest)]
    return f"{start}: from {ends[0]} to {ends[1]}."
