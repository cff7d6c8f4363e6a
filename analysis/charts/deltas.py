"""Δ of every wording as a bar."""

import math
from dataclasses import dataclass

import plotly.graph_objects as go

from analysis.charts import rows, words
from analysis.charts.look import LOWERS, RAISES, Look
from analysis.results import Analysis, PromptResult
from analysis.text import percent

NARROWEST = 0.5  # nats on either side of 0: an effect of 0.03 must look small
PATTERNS = {"": "", "control": "/", "own": "x", "duplicate": "."}

HOW_TO_READ = """
**Question.** How much likelier or less likely does each wording make the target than the reference does?

**Formula.** Δ = log p(target | this wording) − log p(target | reference), in nats. A target of several tokens counts with
the sum of their log-probs. Δ = −0.69 halves the probability, −2.3 divides it by ten.

**Reading it.** Blue bars raise the target's probability, orange bars lower it; the reference is 0. Hatched bars are no
paraphrases with a comparable number: controls change the meaning on purpose, a wording with its own target is compared on
that, and duplicates have the same tokens as an earlier row. Grey bars are smaller than the model's numeric noise. The
axis never shows less than ±0.5 nats, so that a small effect looks small.

**How it can mislead.** A large Δ can be a small change of probability (from 0.02 % to 0.002 %): the hover gives both. A
target that is unlikely after every wording says little about the answer. Sums over targets of different lengths cannot be
compared. A low Δ can come from the form of the prompt, for example a model that starts a new line first, rather than from
what it knows.

**Source.** Liu & Chu, "Understanding the Prompt Sensitivity", ACL 2026, arXiv 2604.18389.
"""


@dataclass(frozen=True)
class _Bar:
    """A row as it is drawn; `delta` is None where there is nothing to draw."""

    result: PromptResult
    delta: float | None
    fill: str  # "raises", "lowers" or "noise"
    pattern: str  # a key of PATTERNS
    text: str
    hover: str


def delta_bars(analysis: Analysis, look: Look, selected: int | None = None) -> go.Figure:
    """Horizontal bars of Δ in nats, one per row in the set's order.

    A point's customdata is [row.index]; `selected` is such an index. The whole row can be clicked.
    """
    drawn = [_bar(result, analysis) for result in analysis.prompts]
    deltas = [bar.delta or 0.0 for bar in drawn]
    colours = [_colour(bar.fill, look) for bar in drawn]
    lowest, highest = min([*deltas, -NARROWEST]), max([*deltas, NARROWEST])
    room = 0.03 * (highest - lowest)
    target = words.brief(analysis.target.text) if analysis.target else "target"
    return rows.row_figure(
        [rows.bars(deltas, colours, [PATTERNS[bar.pattern] for bar in drawn], look), *_legend(drawn, target, look)],
        look,
        title=f"Δ log p({words.brief(analysis.target.text, 16) if analysis.target else 'target'}) by wording",
        description=_description(analysis, drawn),
        table=_table(analysis),
        labels=[rows.row_label(bar.result, look, selected) for bar in drawn],
        numbers=[bar.text for bar in drawn],
        hovers=[bar.hover for bar in drawn],
        customdata=[[bar.result.row.index] for bar in drawn],
        span=(lowest - room, highest + room),
        axis="Δ log p against the reference, nats",
        selected=[place for place, bar in enumerate(drawn) if bar.result.row.index == selected],
    )


def _bar(result: PromptResult, analysis: Analysis) -> _Bar:
    trace, delta = result.trace, result.delta
    if trace is None or delta is None or not math.isfinite(delta):
        reason = result.notes[0].text if result.notes else "there is no reference to compare it with"
        return _Bar(result, None, "noise", "", "no result", rows.row_hover(result, words.wrapped(reason)))
    noise = abs(delta) < analysis.model.noise_floor
    pattern = (
        "control"
        if result.row.is_control
        else "own"
        if result.row.own_target
        else "duplicate"
        if result.duplicate_of is not None
        else ""
    )
    reference = analysis.reference.trace
    assert reference is not None
    if result is analysis.reference:
        text = f"p = {percent(trace.log_prob)}"
        lines = [f"log p = {words.number(trace.log_prob, 3)} nats, p = {percent(trace.log_prob)}"]
    else:
        text = words.signed(delta)
        lines = [
            f"Δ = {words.signed(delta, 3)} nats, log p = {words.number(trace.log_prob, 3)} nats",
            f"p: {percent(reference.log_prob)} → {percent(trace.log_prob)}",
        ]
        if pattern == "duplicate" and not delta:
            text = f"{text} (duplicate)"
    if len(trace.target) > 1:
        lines.append(
            f"{len(trace.target)} target tokens, mean {words.number(trace.log_prob / len(trace.target), 3)} nats per token"
        )
    if result.row.is_control:
        lines.append("a control: its meaning is another")
    if result.row.own_target:
        lines.append(f"on its own target {words.brief(trace.target.text, 40)}")
    if result.duplicate_of is not None:
        lines.append(f"same tokens as {words.brief(_named(analysis, result.duplicate_of), 40)}")
    if noise and delta:
        lines.append(f"below the model’s numeric noise, {analysis.model.noise_floor:.2g} nats")
    fill = "noise" if noise else "raises" if delta > 0 else "lowers"
    return _Bar(result, delta, fill, pattern, text, rows.row_hover(result, *lines))


def _named(analysis: Analysis, index: int) -> str:
    return next(result.label for result in analysis.prompts if result.row.index == index)


def _colour(fill: str, look: Look) -> str:
    return {"raises": RAISES, "lowers": LOWERS}.get(fill, look.grey)


def _legend(bars: list[_Bar], target: str, look: Look) -> list[go.Bar]:
    """An entry for each colour and hatching that is there."""
    others = [bar for bar in bars if bar.result.row.index != 0 and bar.delta is not None]
    entries = [
        (f"raises p({target})", RAISES, "", any(bar.fill == "raises" for bar in others)),
        (f"lowers p({target})", LOWERS, "", any(bar.fill == "lowers" for bar in others)),
        ("within numeric noise", look.grey, "", any(bar.fill == "noise" and bar.delta for bar in others)),
        ("control: other meaning", look.muted, "control", any(bar.pattern == "control" for bar in others)),
        ("on its own target", look.muted, "own", any(bar.pattern == "own" for bar in others)),
        ("duplicate", look.muted, "duplicate", any(bar.pattern == "duplicate" for bar in others)),
    ]
    return [rows.entry(name, colour, look, PATTERNS[pattern]) for name, colour, pattern, there in entries if there]


def _description(analysis: Analysis, bars: list[_Bar]) -> str:
    target = repr(analysis.target.text) if analysis.target else "the target"
    compared = [bar for bar in bars if bar.delta is not None and bar.result.row.index != 0]
    if not compared:
        return f"Bar chart of the change of log p({target}): there is no other wording to compare with the reference."
    lowest = min(compared, key=lambda bar: bar.delta or 0.0)
    highest = max(compared, key=lambda bar: bar.delta or 0.0)
    return (
        f"Bar chart of the change of log p({target}) against the reference for {len(compared)} wordings: from "
        f"{words.signed(lowest.delta or 0.0)} nats ({lowest.result.label}) to {words.signed(highest.delta or 0.0)} nats "
        f"({highest.result.label})."
    )


def _table(analysis: Analysis) -> dict[str, list[str | int | float | bool | None]]:
    results = analysis.prompts
    return {
        "row": [result.row.index for result in results],
        "label": [result.label for result in results],
        "kind": [result.row.kind for result in results],
        "target": [result.trace.target.text if result.trace else None for result in results],
        "log_prob_nats": [result.trace.log_prob if result.trace else None for result in results],
        "delta_nats": [result.delta for result in results],
        "duplicate_of": [result.duplicate_of for result in results],
        "text": [result.row.prompt.text for result in results],
    }
