"""Declared answers scored together: which forms are one answer, which answer wins, and which is the right one."""

from collections.abc import Sequence

import numpy as np

from analysis.results import CandidateScores, PromptResult


def merged_forms(scores: CandidateScores) -> CandidateScores:
    """Candidates that differ only in case and outer blanks as one: log Σ p over the different texts, in nats.

    A merged candidate is called by its stripped, case-folded text, and its one number stands for the whole
    answer, so sum and mean are the same. A candidate of blanks alone stays as it is.
    """
    forms: dict[str, dict[str, float]] = {}
    for text, value in zip(scores.texts, scores.sums, strict=True):
        forms.setdefault(form(text), {})[text] = float(value)
    merged = tuple((float(np.logaddexp.reduce(list(parts.values()))),) for parts in forms.values())
    return CandidateScores(tuple(forms), merged)


def form(text: str) -> str:
    """What forms of one answer have in common."""
    return text.strip().casefold() or text


def winner(scores: CandidateScores, per_token: bool = False) -> int:
    """The place of the likeliest candidate, the first of equals."""
    return int(np.argmax(scores.means if per_token else scores.sums))


def gold(result: PromptResult, texts: Sequence[str]) -> int | None:
    """The place of the row's expected answer among the candidates; without one, of its target.

    The same text comes first, then one that differs in case and outer blanks only.
    """
    for wanted in (result.row.expected, result.trace.target.text if result.trace else None):
        if wanted is not None:
            same = [place for place, text in enumerate(texts) if text == wanted]
            alike = [place for place, text in enumerate(texts) if form(text) == form(wanted)]
            return next(iter([*same, *alike]), None)
    return None
