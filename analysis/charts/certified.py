"""The exact range of every wording's change, the change itself, and how near the estimates come."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from analysis.charts import rows, words
from analysis.charts.look import LOWERS, RAISES, Cell, Look
from analysis.remainder import Remainder
from analysis.results import PromptResult
from analysis.taylor import TokenPair
from analysis.text import shortened

NARROWEST = 0.5  # nats on either side of 0, as in the chart of Δ
STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)  # ticks, where there is room for them
APART = 0.16  # of the axis' length, from one tick to the next

HOW_TO_READ = """
**Question.** Between which values must the change of log p lie, and how near to it do the first- and second-order estimates come?

**Formula.** At the last layer log p(y) is linear in the state h minus a log-sum-exp, so it is concave and lies below its
tangents: g_b·Δh ≤ Δ ≤ g_a·Δh, exactly, for one target token. The upper end is the first-order estimate T_L = Δ + KL(p_a‖p_b); the
lower end is Δ − KL(p_b‖p_a), with p the full next-token distributions after the reference a and the wording b. The second-order
estimate is T_L − ½ Var(log p_b − log p_a) under p_a.

**Reading it.** A bar is the certified range: blue where every value in it raises log p, orange where every value lowers it, grey
where it holds 0. The filled mark is the true Δ, the ring the first-order, the square the second-order estimate. The first-order
error, the gap between mark and ring, is the KL divergence of the two predictions. The axis is true to scale within about ±1 nat and
logarithmic beyond (asinh), so that a range of 60 nats and one of 2 can both be read, and no end is cut off.

**How it can mislead.** It explains, it does not predict: both ends need both passes, and whoever has made them knows Δ. Bars far
from 0 look shorter than they are: compare lengths by the numbers in the hover, or on the linear axis. A range is no interval of
confidence, nothing in it is random. The second order can be worse than the first, even outside the range: the hover says so.
All of it needs a head that is linear in the last state: where logits are soft-capped it does not hold.

**Source.** Concavity of the log-softmax; its errors are Bregman divergences (Bregman 1967). Estimate: Liu & Chu, "Understanding
the Prompt Sensitivity", ACL 2026, arXiv 2604.18389.
"""

Compared = tuple[PromptResult, TokenPair | None, Remainder | None]
Place = Callable[[float], float]  # from nats to a place on the axis


@dataclass(frozen=True)
class _Row:
    """A wording as it is drawn; what is not finite is None."""

    result: PromptResult
    delta: float | None
    lower: float | None
    upper: float | None
    second: float | None
    short: str  # why there is no range, in few words; "" where there is one
    long: str

    @property
    def known(self) -> list[float]:
        return [value for value in (self.delta, self.lower, self.upper, self.second) if value is not None]


def certified(
    compared: Sequence[Compared],
    look: Look,
    *,
    target: str,
    reason: str = "",
    noise: float = 0.0,
    linear: bool = False,
    selected: int | None = None,
) -> go.Figure:
    """A row for each wording against the reference: its certified range, its Δ, and the two estimates.

    `target` is the target token's text; `reason` says why the model's head allows no range (the model card has it); `noise` is
    the model's, in nats. Where a pair has no gradients the range is that of the remainder's divergences. A point's
    customdata is [row.index]; the whole row can be clicked.
    """
    drawn = [_row(*entry, reason) for entry in compared]
    place: Place = float if linear else math.asinh
    span = _span(drawn, place)
    chart = rows.row_figure(
        [_ranges(drawn, place, look), *_marks(drawn, place, noise, look), _reasons(drawn, span, look)],
        look,
        title=f"Certified range of Δ log p({words.brief(target, 12)})",
        subtitle="▬ range   ● Δ   ○ 1st order   □ 2nd order",
        legend=False,
        description=_description(drawn),
        table=_table(drawn),
        labels=[rows.row_label(row.result, look, selected) for row in drawn],
        numbers=["–" if row.delta is None else words.signed(row.delta) for row in drawn],
        hovers=[_hover(row, noise) for row in drawn],
        customdata=[[row.result.row.index] for row in drawn],
        span=span,
        axis=f"Δ log p, nats{'' if linear else ' (logarithmic beyond ±1)'}",
        selected=[number for number, row in enumerate(drawn) if row.result.row.index == selected],
    )
    if linear:
        return chart
    ticks = _ticks(span)
    return chart.update_xaxes(
        tickvals=[math.asinh(tick) for tick in ticks],
        ticktext=[words.number(tick, 1).removesuffix(".0") for tick in ticks],
        tickangle=0,
    )


def _row(result: PromptResult, pair: TokenPair | None, remainder: Remainder | None, reason: str) -> _Row:
    delta = _finite(pair.delta if pair else None)
    lower, upper = _finite(pair.lower if pair else None), _finite(pair.upper if pair else None)
    if remainder and (lower is None or upper is None) and not reason:
        lower, upper = _finite(remainder.delta - remainder.kl_ba), _finite(remainder.delta + remainder.kl_ab)
    if pair is None:
        short, long = "no result", result.notes[0].text if result.notes else "it could not be analysed"
    elif delta is None:
        short, long = "other target", "its target is another one, so the two log-probs do not compare"
    elif reason:
        short, long = "not certified", reason
    elif lower is None or upper is None:
        short, long = "no gradients", "there are no gradients at the last layer"
    else:
        return _Row(result, delta, lower, upper, _finite(remainder.second if remainder else None), "", "")
    return _Row(result, delta, None, None, None, short, long)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _span(drawn: Sequence[_Row], place: Place) -> tuple[float, float]:
    values = [place(value) for row in drawn for value in row.known]
    low, high = min([*values, place(-NARROWEST)]), max([*values, place(NARROWEST)])
    room = 0.05 * (high - low)
    return low - room, high + room


def _ticks(span: tuple[float, float]) -> list[float]:
    """0 and round numbers on both sides of it, as many as have room."""
    low, high = span
    found = [0.0]
    for sign in (-1, 1):
        last = 0.0
        for step in STEPS:
            here = sign * math.asinh(step)
            if low <= here <= high and abs(here - last) >= APART * (high - low):
                found.append(sign * step)
                last = here
    return sorted(found)


def _ranges(drawn: Sequence[_Row], place: Place, look: Look) -> go.Bar:
    held = [(number, place(row.lower), place(row.upper), _side(row)) for number, row in enumerate(drawn)
            if row.lower is not None and row.upper is not None]  # fmt: skip
    shades = {"raises": RAISES, "lowers": LOWERS, "": look.muted}
    return go.Bar(
        orientation="h",
        y=[number for number, *_ in held],
        base=[low for _, low, _, _ in held],
        x=[high - low for _, low, high, _ in held],
        width=0.44,
        marker={"color": [shades[side] for *_, side in held], "opacity": 0.4, "line": {"width": 0}},
        hoverinfo="skip",
        unselected={"marker": {"opacity": 0.4}},
        name="ranges",
    )


def _side(row: _Row) -> str:
    """What the whole range says of p(target)."""
    assert row.lower is not None
    assert row.upper is not None
    return "raises" if row.lower > 0 else "lowers" if row.upper < 0 else ""


def _marks(drawn: Sequence[_Row], place: Place, noise: float, look: Look) -> list[go.Scatter]:
    """Δ filled, first order a ring, second order a square."""

    def marks(name: str, shape: str, size: int, values: Sequence[float | None], colours: Any) -> go.Scatter:
        there = [(place(value), number) for number, value in enumerate(values) if value is not None]
        return go.Scatter(
            x=[x for x, _ in there],
            y=[number for _, number in there],
            mode="markers",
            marker={
                "symbol": shape,
                "size": size,
                "color": colours,
                "opacity": 1,
                "line": {"width": 2, "color": colours},
            },
            cliponaxis=False,
            hoverinfo="skip",
            unselected={"marker": {"opacity": 1}},
            name=name,
        )

    point = look.point
    deltas = [None if row.short else row.delta for row in drawn]  # where words stand, the number at the right is enough
    shades = [
        look.grey if abs(delta) < noise else RAISES if delta > 0 else LOWERS for delta in deltas if delta is not None
    ]
    return [
        marks("Δ", "circle", point - 3, deltas, shades),
        marks("1st order", "circle-open", point + 1, [row.upper for row in drawn], look.ink),
        marks("2nd order", "square-open", point + 1, [row.second for row in drawn], look.ink),
    ]


def _reasons(drawn: Sequence[_Row], span: tuple[float, float], look: Look) -> go.Scatter:
    """Words in the place of a range."""
    missing = [(number, row) for number, row in enumerate(drawn) if row.short]
    return go.Scatter(
        x=[span[0]] * len(missing),
        y=[number for number, _ in missing],
        mode="text",
        text=[row.short if row.short == "no result" else f"not valid: {row.short}" for _, row in missing],
        textposition="middle right",
        textfont={"size": look.size - 1, "color": look.muted},
        hoverinfo="skip",
        name="no range",
    )


def _hover(row: _Row, noise: float) -> str:
    lines = [] if row.delta is None else [f"Δ = {words.signed(row.delta, 3)} nats: p times {factor(row.delta)}"]
    if row.short:
        lines.append(words.wrapped(row.long if row.short == "no result" else f"not valid here: {row.long}"))
        return rows.row_hover(row.result, *lines)
    assert row.lower is not None
    assert row.upper is not None
    assert row.delta is not None
    lines += [
        f"certified: {words.signed(row.lower, 3)} to {words.signed(row.upper, 3)} nats",
        f"p times {factor(row.lower)} to {factor(row.upper)}",
        f"first order: {words.signed(row.upper, 3)}, off by {words.number(row.upper - row.delta, 3)}",
    ]
    if row.second is not None:
        off = abs(row.second - row.delta)
        worse = " (<b>worse</b>)" if off > row.upper - row.delta else ""
        lines.append(f"second order: {words.signed(row.second, 3)}, off by {words.number(off, 3)}{worse}")
    if abs(row.delta) < noise:
        lines.append(f"Δ is below the model’s numeric noise, {noise:.2g} nats")
    return rows.row_hover(row.result, *lines)


def factor(nats: float) -> str:
    """What a change of log p multiplies p by: "0.53", "12", "10⁻¹³"."""
    power = nats / math.log(10)
    if -2 < power < 3:
        value = math.exp(nats)
        return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}" if value >= 0.995 else f"{value:.2g}"
    return f"10{str(round(power)).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


def _table(drawn: Sequence[_Row]) -> dict[str, list[Cell]]:
    return {
        "row": [row.result.row.index for row in drawn],
        "label": [row.result.label for row in drawn],
        "delta_nats": [row.delta for row in drawn],
        "lower_nats": [row.lower for row in drawn],
        "upper_nats": [row.upper for row in drawn],
        "second_order_nats": [row.second for row in drawn],
        "not_valid": [row.long for row in drawn],
    }


def _description(drawn: Sequence[_Row]) -> str:
    start = "Forest plot of the certified range of the change of log p"
    held = [row for row in drawn if row.lower is not None and row.upper is not None]
    if not held:
        return f"{start}: no wording has one."
    widest = max(held, key=lambda row: (row.upper or 0.0) - (row.lower or 0.0))
    down, up = sum(_side(row) == "lowers" for row in held), sum(_side(row) == "raises" for row in held)
    low, high, delta = (words.signed(value or 0.0) for value in (widest.lower, widest.upper, widest.delta))
    return (
        f"{start} for {len(held)} of {len(drawn)} wordings: the whole range is below 0 for {down} and above 0 for {up}; "
        f"the widest is from {low} to {high} nats ({shortened(widest.result.label)}), where the change is {delta}."
    )
