"""What each edit did, as bars that add up to Δ."""

from itertools import accumulate

import numpy as np
import plotly.graph_objects as go

from analysis.charts import rows, words
from analysis.charts.look import LOWERS, RAISES, Look
from analysis.edits_results import EditAttribution, TextEdit

NARROWEST = 0.5  # nats, either side of 0 and Δ together: an effect of 0.03 must look small
SIDE = 10  # columns of each side of an edit's name
NOTHING = "∅"

HOW_TO_READ = """
**Question.** Two wordings differ in several edits: which of them moved the target's log-prob?

**Formula.** v(S) = log p(target) after the reference with the edits in S made. An edit's value is what it adds when its turn
comes, on average over all orders in which the edits can be made (its Shapley value): φ = Σ over S without it of
|S|! (k−|S|−1)! / k! · (v(S with it) − v(S)). The values of all edits sum to Δ. Up to eight edits every mixture is scored (2ᵏ texts);
above, random orders and their reverses are drawn, and the thin lines span one standard error on either side.

**Reading it.** The bars stand in the order of the text and hang together: each begins where the one above ended, the last one
is Δ from the reference to the wording. Blue raises the target's probability, orange lowers it. ∅ → marks what was added,
→ ∅ what was left out. The hover also says what the edit does alone and as the last one.

**How it can mislead.** Most mixtures are texts that nobody would write (a plural verb whose noun is still singular), and an edit
is judged on them too. Two edits that only work together share the effect alike; where a hover's "alone" and "last" differ much, the
other edits decide. How the difference is cut into edits is a choice: a word that moved is a deletion and an insertion.

**Source.** Shapley, "A value for n-person games", 1953; sampling: Castro, Gómez & Tejada 2009.
"""


def edits(found: EditAttribution, look: Look) -> go.Figure:
    """A row for each edit in the order of the text, and one for Δ. A point's customdata is [hunk], for Δ [-1]."""
    values = [float(value) for value in found.values]
    count = len(values)
    starts = [0.0, *accumulate(values)]  # the last is where the values end, which is Δ but for the residual
    colours = [*(RAISES if value >= 0 else LOWERS for value in values), look.muted]
    bars = rows.bars([*values, found.delta], colours, [""] * (count + 1), look)
    bars.base = [*starts[:-1], 0.0]
    errors = found.standard_errors
    reach = (
        [starts[k + 1] + side * float(errors[k]) for k in range(count) for side in (-1, 1)]
        if errors is not None
        else []
    )
    lowest, highest = min([*starts, *reach, found.delta]), max([*starts, *reach, found.delta])
    missing = max(2 * NARROWEST - (highest - lowest), 0.0)
    room = 0.03 * max(highest - lowest, 2 * NARROWEST)
    return rows.row_figure(
        [
            bars,
            _connectors(starts, look),
            *([] if errors is None else [_errors(starts[1:], errors, look)]),
            *_legend(found, look),
        ],
        look,
        title=f"What each edit does to log p({words.brief(found.target.text, 16)})",
        description=_description(found),
        table=_table(found),
        labels=[*(label(hunk) for hunk in found.hunks), f"<b>Δ {words.brief(found.label, 20)}</b>"],
        numbers=[*map(words.signed, values), words.signed(found.delta)],
        hovers=[*(_hover(found, place) for place in range(count)), _total(found)],
        customdata=[[place] for place in (*range(count), -1)],
        span=(lowest - missing / 2 - room, highest + missing / 2 + room),
        axis="log p against the reference, nats",
    )


def label(hunk: TextEdit, side: int = SIDE) -> str:
    """ "‘is’ → ‘was’", escaped; ∅ for nothing."""
    before, after = (f"‘{words.brief(text, side)}’" if text else NOTHING for text in (hunk.before, hunk.after))
    return f"{before} → {after}"


def _connectors(starts: list[float], look: Look) -> go.Scatter:
    """Thin lines from the end of each bar to the beginning of the next."""
    x: list[float | None] = []
    y: list[float | None] = []
    for place, value in enumerate(starts[1:]):
        x += [value, value, None]
        y += [place - 0.31, place + 1.31, None]
    return go.Scatter(
        x=x,
        y=y,
        mode="lines",
        line={"color": look.muted, "width": 1},
        hoverinfo="skip",
        name="connectors",
        showlegend=False,
    )


def _errors(ends: list[float], errors: np.ndarray, look: Look) -> go.Scatter:
    return go.Scatter(
        x=ends,
        y=list(range(len(ends))),
        mode="markers",
        marker={"size": 1, "color": look.ink},
        error_x={"type": "data", "array": errors.tolist(), "color": look.ink, "thickness": 1.5, "width": 4},
        hoverinfo="skip",
        name="± one standard error",
        showlegend=False,
    )


def _legend(found: EditAttribution, look: Look) -> list[go.Bar]:
    aim = words.brief(found.target.text)
    entries = [
        (f"raises p({aim})", RAISES, bool((found.values >= 0).any())),
        (f"lowers p({aim})", LOWERS, bool((found.values < 0).any())),
    ]
    return [rows.entry(name, colour, look) for name, colour, there in entries if there]


def _hover(found: EditAttribution, place: int) -> str:
    hunk, value = found.hunks[place], float(found.values[place])
    error = "" if found.standard_errors is None else f" ± {words.number(float(found.standard_errors[place]), 3)}"
    lines = [
        f"<b>{words.signed(value, 3)}{error} nats</b>",
        f"was: {words.wrapped(hunk.before, 400) if hunk.before else NOTHING}",
        f"is: {words.wrapped(hunk.after, 400) if hunk.after else NOTHING}",
        f"made alone: {words.signed(float(found.alone[place]), 3)} nats",
        f"made last: {words.signed(found.delta - float(found.without[place]), 3)} nats",
    ]
    return "<br>".join(lines)


def _total(found: EditAttribution) -> str:
    how = "exact" if found.exact else "sampled"
    return "<br>".join(
        [
            f"<b>Δ = {words.signed(found.delta, 3)} nats</b>",
            f"{len(found.hunks)} edits, {how}, {found.passes} texts scored",
            f"Δ − sum of the values: {found.residual:.1e} nats".replace("-", "−"),
            words.wrapped(found.variant),
        ]
    )


def _description(found: EditAttribution) -> str:
    first = found.ranked[0]
    hunk = found.hunks[first]
    return (
        f"Bar chart of what {len(found.hunks)} edits do to log p({found.target.text!r}): together {words.signed(found.delta)} nats,"
        f" most {hunk.before!r} to {hunk.after!r} ({words.signed(float(found.values[first]))} nats)."
    )


def _table(found: EditAttribution) -> dict[str, list[str | int | float | bool | None]]:
    hunks, errors = found.hunks, found.standard_errors
    return {
        "edit": [str(place) for place in range(1, len(hunks) + 1)] + ["all"],
        "before": [*(hunk.before for hunk in hunks), found.reference],
        "after": [*(hunk.after for hunk in hunks), found.variant],
        "value_nats": [*found.values.tolist(), found.delta],
        "standard_error_nats": [None] * (len(hunks) + 1) if errors is None else [*errors.tolist(), None],
        "alone_nats": [*found.alone.tolist(), None],
        "last_nats": [*(found.delta - found.without).tolist(), None],
    }
