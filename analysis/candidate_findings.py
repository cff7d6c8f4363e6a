"""What declared answers say about a prompt set, in plain words; plain text, never markup."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.candidates import form, gold, merged_forms, winner
from analysis.findings import STABLE, nats, number, quoted
from analysis.notes import UNLIKELY
from analysis.results import Analysis, CandidateScores, PromptResult
from analysis.text import percent

LABEL = re.compile(r"\(?(\w|\w*\d)[).:]?")  # A, (b), 3., Option 2: a place in a list rather than a content


@dataclass(frozen=True, eq=False)
class _Scored:
    """A wording with its answers, forms of one answer put together."""

    result: PromptResult
    scores: CandidateScores
    merged: CandidateScores

    @property
    def best(self) -> str:
        return self.merged.texts[winner(self.merged)]

    @property
    def right(self) -> str | None:
        """The form of the expected answer, where one is declared among the candidates."""
        place = gold(self.result, self.merged.texts) if self.result.row.expected is not None else None
        return None if place is None else self.merged.texts[place]

    def log_prob(self, answer: str) -> float:
        return float(self.merged.sums[self.merged.texts.index(answer)])

    def name(self, answer: str) -> str:
        """The first declared text of this form, in quotes."""
        return quoted(next(text for text in self.scores.texts if form(text) == answer).strip() or answer)


def candidates(analysis: Analysis, scores: Sequence[CandidateScores | None]) -> str:
    """The finding of scored candidates: who wins, whether that is right, and what sums hide.

    `scores` has one entry per prompt. Forms that differ in case and outer blanks count as one answer.
    Controls are left out.
    """
    rows = [
        _Scored(result, found, merged_forms(found))
        for result, found in zip(analysis.prompts, scores, strict=True)
        if found is not None and not result.row.is_control
    ]
    if not rows:
        return "No wording has declared answers that could be scored."
    first = set(rows[0].merged.texts)
    common = [row for row in rows if set(row.merged.texts) == first]
    others = [row for row in rows if set(row.merged.texts) != first]
    parts = [_winners(common), _slot(common), _own(others), _right(rows), _lengths(rows), _seams(rows), _unlikely(rows)]
    return " ".join(part for part in parts if part)


def _winners(rows: list[_Scored]) -> str:
    lead = rows[0]
    if len(lead.merged.texts) == 1:
        return f"{lead.name(lead.best)} is the only declared answer, so there is no other one to compare it with."
    counts = Counter(row.best for row in rows)
    if len(rows) == 1:
        p = percent(lead.log_prob(lead.best))
        return f"Of the declared answers {lead.name(lead.best)} is the likeliest after {_label(lead)} ({p})."
    if len(counts) == 1:
        moved = float(np.ptp([row.log_prob(lead.best) for row in rows]))
        how = f"moves by {nats(moved)}: the answer stays, the confidence moves" if moved >= STABLE else "hardly moves"
        every = "both" if len(rows) == 2 else f"all {number(len(rows))}"
        return f"Of the declared answers {lead.name(lead.best)} is the likeliest after {every} wordings; its log-prob {how}."
    named = [f"{lead.name(best)} after {number(count)}" for best, count in counts.most_common()]
    return f"The likeliest of the declared answers changes over {number(len(rows))} wordings: {', '.join(named)}."


def _slot(rows: list[_Scored]) -> str:
    """One answer throughout although the right one moves."""
    rights = [row.right for row in rows]
    if len({row.best for row in rows}) > 1 or None in rights or len(set(rights)) < 2:
        return ""
    named = ", ".join(row.name(right) for row, right in zip(rows, rights, strict=True) if right is not None)
    if all(LABEL.fullmatch(right) for right in rights if right is not None):
        return f"The right one moves ({named}): the model follows the slot, not the content."
    return f"The right one moves ({named}): the answers are consistent in words, not in meaning."


def _own(rows: list[_Scored]) -> str:
    """Winners of the wordings that have other answers to choose from."""
    if not rows:
        return ""
    named = [f"{row.name(row.best)} after {_label(row)}" for row in rows[:3]]
    more = f" and {len(rows) - 3} more" if len(rows) > 3 else ""
    return f"Among answers of their own: {', '.join(named)}{more}."


def _right(rows: list[_Scored]) -> str:
    judged = [row for row in rows if row.right is not None]
    right = sum(row.best == row.right for row in judged)
    if not judged:
        return ""
    if len(judged) == 1:
        return f"{'Right' if right else 'Wrong'} after {_label(judged[0])}."
    return (
        f"Right after {number(right)} of {number(len(judged))}." if right else f"Wrong after all {number(len(judged))}."
    )


def _lengths(rows: list[_Scored]) -> str:
    """What the numbers of tokens do to a comparison of sums."""
    counts = [len(tokens) for row in rows for tokens in row.scores.log_probs]
    uneven = [row for row in rows if len({len(tokens) for tokens in row.scores.log_probs}) > 1]
    if not uneven:
        return ""
    other = [row for row in uneven if winner(row.scores) != winner(row.scores, per_token=True)]
    sentence = f"The answers have {min(counts)} to {max(counts)} tokens, and sums favour the short ones"
    if not other:
        return f"{sentence}; by the mean per token the same answers win."
    best = other[0].scores.texts[winner(other[0].scores, per_token=True)]
    return f"{sentence}; by the mean per token {quoted(best)} would win after {_label(other[0])}" + (
        f", and others after {number(len(other) - 1)} more." if len(other) > 1 else "."
    )


def _seams(rows: list[_Scored]) -> str:
    """Answers whose text would join the prompt's last token."""
    found = {
        quoted(text): row
        for row in reversed(rows)
        for text, joined in zip(row.scores.texts, row.scores.joined, strict=False)
        if not joined
    }
    if not found:
        return ""
    text, row = next(reversed(found.items()))
    more = f", and {number(len(found) - 1)} more after this or another wording" if len(found) > 1 else ""
    return f"Written after {_label(row)}, {text} is split into other tokens than the ones scored{more}."


def _unlikely(rows: list[_Scored]) -> str:
    together = [float(np.logaddexp.reduce(row.merged.sums)) for row in rows]
    if max(together) >= UNLIKELY:
        return ""
    return f"Together they have at most {percent(max(together))}: the model would rather say something else."


def _label(row: _Scored) -> str:
    return "the reference" if row.result.row.index == 0 else quoted(row.result.label)
