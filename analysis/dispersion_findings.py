"""The sentences over the Dispersion page: how far states drift apart, what the bound allows, what is certain."""

from collections.abc import Sequence

import numpy as np

from analysis import taylor
from analysis.charts.bounds import layer_ranges
from analysis.charts.words import number, signed
from analysis.contrast import Contrast
from analysis.dispersion import Dispersion
from analysis.findings import nats, quoted
from analysis.patching_results import PatchCurve
from analysis.remainder import Remainder
from analysis.taylor import TokenPair

#: Ratios of within to between that are worth a word.
APART = 0.9


def dispersion(found: Dispersion, pairs: Sequence[TokenPair], token: str = "") -> str:
    """Distances at both ends, the largest bound, the largest change, and what is certified about the rewordings.

    `token` names the target token where the target has several.
    """
    if found.prompts < 2:
        return "Add a paraphrase to see how far its states drift from the reference's."
    raw = found.to_reference.raw
    subject, mean = ("The rewordings' states", "on average ") if found.prompts > 2 else ("The rewording's state", "")
    start = "equal" if raw[0] == 0 else f"{mean}{number(raw[0], 1)} apart"
    sentence = (
        f"{subject} and the reference's are {start} where they enter the first block and"
        f" {mean if raw[0] == 0 else ''}{number(raw[-1], 1)} apart at the head"
    )
    bounds = [float(pair.bound[-1]) for pair in pairs if pair.bound is not None]
    deltas = [pair.delta for pair in pairs if pair.delta is not None]
    if bounds and deltas:
        largest = max(map(abs, deltas))
        sentence += (
            f"; the bound there would allow ±{number(max(bounds), 1)} nats, the largest change is {nats(largest)}"
        )
    certain = [(pair.lower, pair.upper) for pair in pairs if pair.lower is not None and pair.upper is not None]
    if certain:
        lows, highs = zip(*certain, strict=True)
        sentence += f"; certified: between {signed(min(lows), 1)} and {signed(max(highs), 1)}"
    return f"{f'For target token {quoted(token)}: ' if token else ''}{sentence}."


def violations(pairs: Sequence[TokenPair]) -> str:
    """How often |Δ| exceeds B_l, where, and why that can be."""
    counts, total = taylor.violations(pairs)
    if not total:
        return "Bounds need gradients of one common target, which these prompts do not have."
    if not counts.any():
        return f"|Δ| stays within B at every layer, in {'this pair' if total == 1 else f'all {total} pairs'}."
    worst, last = int(counts.argmax()), int(counts[-1])
    if total == 1:
        where = f"at layer {layer_ranges(np.flatnonzero(counts).tolist())}"
    else:
        where = f"most at layer {worst}: in {counts[worst]} of {total} pairs; at the head in {last or 'none'}"
    return (
        f"|Δ| exceeds B {where}. B bounds what moving the last token's state does to first order; Δ also comes from all"
        " other tokens, which the layers above still read, and from curvature."
    )


def patch(curve: PatchCurve, delta: float) -> str:
    """Where the difference enters: the largest step of the curve."""
    if abs(delta) < 1e-3 and np.abs(curve.effect).max() < 1e-3:
        return "Nothing to locate: exchanging the last token's state changes nothing at any layer."
    layer = curve.jump
    return (
        f"The largest step lies between layers {layer} and {layer + 1}: {signed(curve.step)} of {signed(delta)} nats. There the model"
        " reads the difference from earlier tokens."
    )


def second_order(found: Sequence[Remainder]) -> str:
    """Whether the second-order term helps; it says so where it does not."""
    if not found:
        return ""
    worse = sum(remainder.second_is_worse for remainder in found)
    if not worse:
        return "The second-order estimate is closer to Δ than the first-order one in every row."
    if worse == len(found):
        return "The second-order estimate is farther from Δ than the first-order one in every row: the steps are too long for it."
    return (
        f"The second-order estimate is farther from Δ than the first-order one in {worse} of {len(found)} rows: there the"
        " step is too long for it."
    )


def contrast(found: Contrast, view: str) -> str:
    """Within against between at the first and the last layer."""
    share = found.share(view)
    if np.isnan(share[-1]):
        return "All prompts have the same state at the head: there is nothing to compare."
    if np.isnan(share[0]):
        start = "at layer 0 all states are equal"
    else:
        start = f"at layer 0 it was {number(float(share[0]))}"
    last = float(share[-1])
    verdict = (
        "prompts of one intent keep together" if last < APART else "one intent is as far apart as different intents"
    )
    return (
        f"At the head, wordings of this set are {number(last)} times as far apart as from the other sets ({view}); {start}:"
        f" {verdict}."
    )


def same_last_token(shares: bool, chat: bool) -> str:
    """Why Δh is 0 at layer 0, where it is."""
    if not shares:
        return ""
    why = "in chat mode every prompt ends in the same token of the template" if chat else "they end in the same token"
    return (
        f"Δh is 0 at layer 0, and so is B: {why}, and only its state is looked at. The wordings differ in the tokens before it,"
        " which layer 1 and later layers read."
    )
