"""One sentence that states what a result says, in plain words and numbers; plain text, never markup."""

from collections.abc import Sequence

import numpy as np

from analysis.agreement import rank_correlation
from analysis.answers_match import is_expected, same_answer
from analysis.attribution_results import LeaveOneOut, held_tokens
from analysis.charts.words import signed
from analysis.model_hints import leaves
from analysis.notes import UNLIKELY
from analysis.results import Analysis, Answer, PromptResult, Trace
from analysis.text import percent, shortened
from analysis.tokens import cells

_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
FEW = 6  # tokens: a rank correlation of fewer is mostly chance
STABLE = 0.1  # nats: below this nobody would notice


def compared(analysis: Analysis) -> list[PromptResult]:
    """The rewordings that a summary is about: analysed, on the common target, and meant as paraphrases."""
    return [
        result
        for result in analysis.prompts[1:]
        if result.trace is not None
        and result.delta is not None
        and not result.row.own_target
        and not result.row.is_control
    ]


def left_out(analysis: Analysis) -> list[str]:
    """Which rows a summary leaves out, and why, as phrases."""
    rows = analysis.prompts[1:]
    counts = {
        "on their own target": sum(r.trace is not None and r.row.own_target for r in rows),
        "controls": sum(r.trace is not None and r.row.is_control and not r.row.own_target for r in rows),
        "could not be analysed": sum(r.trace is None for r in rows),
    }
    return [f"{count} {why}" for why, count in counts.items() if count]


def explore(analysis: Analysis, answers: Sequence[Answer | None] | None = None) -> str:
    """The finding of a prompt set: how far the target's log-prob moves, and how many answers change."""
    reference, target = analysis.reference.trace, analysis.target
    if reference is None or target is None:
        return "The reference could not be analysed, so there is nothing to compare with yet."
    name = f"log p({quoted(target.text)})"
    p = percent(reference.log_prob)
    rows = compared(analysis)
    if not rows:
        more = "" if analysis.prompts[1:] else " Add a paraphrase to see what the wording changes."
        return f"After the reference, p({quoted(target.text)}) is {p} ({reference.log_prob:.2f} nats).{more}{_omitted(analysis)}"
    largest = max(rows, key=lambda result: abs(result.delta or 0.0))
    assert largest.trace is not None
    assert largest.delta is not None
    moved = abs(largest.delta)
    count = f"{number(len(rows)).capitalize()} rewording{'s' if len(rows) > 1 else ''}"
    verb = "move" if len(rows) > 1 else "moves"
    if moved == 0:
        sentence = f"{count} {'leave' if len(rows) > 1 else 'leaves'} {name} exactly where it is ({p})"
    elif moved < STABLE:
        sentence = f"{count} hardly {verb} {name}: by at most {nats(moved)} ({p} → {percent(largest.trace.log_prob)})"
    else:
        by = "by up to" if len(rows) > 1 else "by"
        sentence = f"{count} {verb} {name} {by} {nats(moved)} ({p} → {percent(largest.trace.log_prob)})"
    more = f"{_caution(analysis, rows)}{_wrong(analysis, rows, answers)}{_leaving(analysis, rows)}{_omitted(analysis)}"
    return f"{sentence}; {_changes(analysis, rows, answers)}.{more}"


def _changes(analysis: Analysis, rows: list[PromptResult], answers: Sequence[Answer | None] | None) -> str:
    """How many rewordings change the answer: the written one where it is there, else the top next token."""
    by_row = dict(zip((result.row.index for result in analysis.prompts), answers or (), strict=False))
    base = by_row.get(0)
    # Where a prompt fills the model's context there is no answer, which is not another answer.
    if base is not None and all(by_row[result.row.index] is not None for result in rows):
        changed = sum(not same_answer(base, by_row[result.row.index]) for result in rows)
        what = "the answer"
    else:
        first = _top(analysis.reference)
        changed = sum(_top(result) != first for result in rows)
        what = "the likeliest next token"
    if len(rows) == 1:
        return f"it changes {what}" if changed else f"it does not change {what}"
    if not changed:
        return f"none changes {what}"
    if changed == len(rows):
        return f"all of them change {what}"
    return f"{number(changed)} of them change{'s' if changed == 1 else ''} {what}"


def _top(result: PromptResult) -> int:
    assert result.trace is not None
    return int(np.argmax(result.trace.next_log_probs))


def _caution(analysis: Analysis, rows: list[PromptResult]) -> str:
    traces = [result.trace for result in (analysis.reference, *rows) if result.trace]
    if all(trace.log_prob < UNLIKELY for trace in traces):
        return " The target is unlikely after every one of them, so a small change is not a stable answer."
    return ""


def _wrong(analysis: Analysis, rows: list[PromptResult], answers: Sequence[Answer | None] | None) -> str:
    """Says so where every answer is wrong: agreeing answers are then no good sign."""
    by_row = dict(zip((result.row.index for result in analysis.prompts), answers or (), strict=False))
    judged = [
        is_expected(answer, result.row.expected)
        for result in (analysis.reference, *rows)
        if result.row.expected and (answer := by_row.get(result.row.index)) is not None
    ]
    if not judged or any(judged):
        return ""
    return f" The answer is wrong after every one of them (expected: {quoted(analysis.reference.row.expected or '')})."


def _leaving(analysis: Analysis, rows: list[PromptResult]) -> str:
    """Which prompts the model would rather leave than answer: not an effect of their wording."""
    count = sum(map(leaves, rows))
    if not count:
        return ""
    of_them = "it" if len(rows) == 1 else "all of them" if count == len(rows) else f"{number(count)} of them"
    also = "the reference and " if leaves(analysis.reference) else ""
    return (
        f" After {also}{of_them} the model would rather end its turn or begin a new line than answer: that shows the mode,"
        " not the wording."
    )


def _omitted(analysis: Analysis) -> str:
    phrases = left_out(analysis)
    return f" Left out: {', '.join(phrases)}." if phrases else ""


def number(count: int) -> str:
    """A count in words up to twelve."""
    return _WORDS[count] if count < len(_WORDS) else str(count)


def nats(value: float) -> str:
    digits = 1 if abs(value) >= 1 else 2 if abs(value) >= 0.01 else 4
    return f"{value:.{digits}f} nats"


def quoted(text: str, limit: int = 40) -> str:
    """A target for a sentence: in quotes, one line, with everything in it visible."""
    return f'"{shortened(text, limit)}"'


def attribution(
    trace: Trace,
    values: Sequence[float] | np.ndarray,
    *,
    method: str,
    magnitude: bool,
    converged: bool,
    foil: str | None = None,
    truth: LeaveOneOut | None = None,
) -> str:
    """The finding of a map of one wording: the token that counts most, and whether leaving it out agrees."""
    what = f"log p({quoted(trace.target.text)})" + (f" − log p({quoted(foil)})" if foil is not None else "")
    names = {index: shortened(cell.text, 30) for cell in cells(trace.tokens) for index in cell.tokens}
    held = held_tokens(trace.tokens)
    scores = np.array([np.nan if held[t] else value for t, value in enumerate(values)], dtype=float)
    if not np.isfinite(scores).any():
        return f"No token of this wording has a {method} score for {what}."
    most = int(np.nanargmax(np.abs(scores)))
    verb = "moves" if magnitude else "raises" if scores[most] > 0 else "lowers"
    sentence = f'By {method}, "{names[most]}" {verb} {what} most'
    if not converged:
        sentence = f'{method.capitalize()} did not converge; its map would name "{names[most]}"'
    if truth is None or not np.isfinite(truth.scores[most]):
        return sentence + "."
    without = float(truth.scores[most])
    effect = "falls" if without > 0 else "rises"
    real = np.where(held, np.nan, truth.scores)
    best = int(np.nanargmax(np.abs(real)))
    agrees = (
        ""
        if best == most
        else f', while leaving out "{names[best]}" changes it most, by {nats(abs(float(real[best])))}'
    )
    return f"{sentence}; without it, it {effect} by {nats(abs(without))}{agrees}.{_agreement(truth, scores, magnitude, method)}"


def _agreement(truth: LeaveOneOut, scores: np.ndarray, magnitude: bool, method: str) -> str:
    real = np.where(truth.held, np.nan, truth.scores)
    rho = rank_correlation(np.abs(real) if magnitude else real, scores)
    if rho is None or method.startswith("leave-one-out"):
        return ""
    count = int((np.isfinite(real) & np.isfinite(scores)).sum())
    words = "hardly follows" if abs(rho) < 0.3 else "partly follows" if rho < 0.7 else "closely follows"
    if rho <= -0.3:
        words = "runs against"
    few = "; so few say little" if count < FEW else ""
    return f" The map {words} leave-one-out (rank correlation {signed(rho)} over {count} tokens{few})."
