"""The sentence over "Which edit did it?": the edit with the largest share of Δ, and how far it can be trusted."""

import numpy as np

from analysis.charts.words import signed
from analysis.edits_results import EditAttribution, TextEdit
from analysis.findings import STABLE, nats, number, quoted
from analysis.text import shortened

TOGETHER = 0.5  # nats: an interaction that is worth a word


def named(hunk: TextEdit, limit: int = 24) -> str:
    """An edit in words: "“is” → “was”", "adding “not”", "leaving out “very”"."""
    before, after = (shortened(text.strip() or text, limit) for text in (hunk.before, hunk.after))
    if not hunk.before:
        return f"adding “{after}”"
    if not hunk.after:
        return f"leaving out “{before}”"
    return f"“{before}” → “{after}”"


def edits(found: EditAttribution) -> str:
    """Which edit moves log p(target) most, of how many, and what stands against taking that at face value."""
    target = f"log p({quoted(found.target.text)})"
    count, delta = len(found.hunks), found.delta
    first = found.ranked[0]
    value = float(found.values[first])
    if count == 1:
        return f"There is one edit, {named(found.hunks[0])}, so it did all of Δ = {signed(delta)} nats."
    if np.abs(found.values).max() < STABLE:
        return f"None of the {number(count)} edits moves {target} by {STABLE} nats; together they make Δ = {signed(delta)} nats."
    verb = "raises" if value > 0 else "lowers"
    sentence = (
        f"Of {number(count)} edits, {named(found.hunks[first])} {verb} {target} most, by {nats(abs(value))} of"
        f" Δ = {signed(delta)} nats"
    )
    return f"{sentence}.{_alone(found, first)}{_against(found, first)}{_certainty(found)}"


def _alone(found: EditAttribution, first: int) -> str:
    """Where the edit does something else alone than with the others, the context decides."""
    alone, value = float(found.alone[first]), float(found.values[first])
    if abs(alone - value) < TOGETHER:
        return ""
    last = float(found.delta - found.without[first])
    return f" Made alone it moves it by {signed(alone)}, made last by {signed(last)}: what it does depends on the other edits."


def _against(found: EditAttribution, first: int) -> str:
    """An edit that works the other way hides some of the effect."""
    opposed = [place for place in found.ranked if found.values[place] * found.values[first] < 0]
    if not opposed or abs(found.values[opposed[0]]) < max(STABLE, 0.25 * abs(found.values[first])):
        return ""
    other = opposed[0]
    name = named(found.hunks[other])
    return f" {name[:1].upper()}{name[1:]} works against it ({signed(float(found.values[other]))})."


def _certainty(found: EditAttribution) -> str:
    if found.standard_errors is None:
        return ""
    first, *rest = found.ranked
    error = found.standard_errors
    clear = not rest or abs(found.values[first]) - abs(found.values[rest[0]]) > 2 * np.hypot(
        error[first], error[rest[0]]
    )
    doubt = "" if clear else " The first two cannot be told apart by that."
    merged = " Neighbouring edits count as one." if found.merged else ""
    return f" Sampled from {found.passes} mixtures, ± {error[first]:.2f} nats.{doubt}{merged}"
