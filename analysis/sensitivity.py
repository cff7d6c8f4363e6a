"""How much a set's wordings move its target and its answers, as single numbers.

Every number says over how many prompts it is taken, and what was left out: controls (their meaning is
changed on purpose), rows with a target of their own, repeated prompts, and rows that failed. Rows whose
expected answer differs (reordered options) are judged right or wrong on their own, and stay out of what
compares answers word by word.

Sources: POSIX, Chatterjee et al., EMNLP Findings 2024; spread, FormatSpread, ICLR 2024; combined
performance score (CPS), "State of What Art", TACL 2024.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np
from jaxtyping import Float

from analysis.answers_match import Match, answer_key, is_expected
from analysis.metrics import mean_of_pairs
from analysis.results import Analysis, Answer


@dataclass(frozen=True)
class LeftOut:
    """How many rows a comparison leaves out, by the first reason that holds."""

    failed: int = 0  # no result; among answers also: no answer, or nothing expected of it
    controls: int = 0
    own_target: int = 0
    own_expected: int = 0
    duplicates: int = 0

    @property
    def total(self) -> int:
        return sum(getattr(self, field.name) for field in fields(self))


@dataclass(frozen=True)
class Compared:
    """The rows that a comparison takes, as places in `Analysis.prompts`, and what it leaves out."""

    places: tuple[int, ...]
    left_out: LeftOut


@dataclass(frozen=True)
class Sensitivity:
    """Figures of one prompt set; None where there are fewer than two rows to compare, or no answers.

    `all_right`, `any_right` and `same_answer` become rates when several sets are averaged: a set can
    be stable and wrong.
    """

    prompts: int  # compared on the common target
    left_out: LeftOut
    worst: float | None  # lowest log p(target), nats
    mean: float | None
    best: float | None
    spread: float | None  # best − worst, nats; a lower bound that grows with the number of prompts
    worst_probability: float | None
    mean_probability: float | None
    best_probability: float | None
    cps: float | None  # (1 − (max − mean)) · max of p(target)
    posix: float | None  # nats per token
    match: Match
    answers: int  # rows whose answers are compared
    answers_left_out: LeftOut
    flip_rate: float | None  # share of variants whose answer is not the reference's
    same_answer: bool | None  # all answers are one
    distinct_answers: int | None
    correct: Match  # how an answer is compared with the expected one
    judged: int  # rows whose answer is compared with it
    right: float | None  # share of them that are right
    all_right: bool | None
    any_right: bool | None


@dataclass(frozen=True, eq=False)
class ResponseScores:
    """log P(response j | prompt i) for the prompts that are compared."""

    places: tuple[int, ...]  # of the prompts, in `Analysis.prompts`; response j is prompt j's
    lengths: tuple[int, ...]  # tokens of each response, an end token included
    log_probs: Float[np.ndarray, "prompt prompt"]  # nats, summed over the response's tokens

    @property
    def posix(self) -> float | None:
        return posix(self.log_probs, self.lengths)


def sensitivity(
    analysis: Analysis,
    answers: Sequence[Answer | None] | None = None,
    *,
    match: Match = "first line",
    correct: Match = "contains",
    posix: float | None = None,
) -> Sensitivity:
    """The figures of an analysed set. `answers` has one entry per prompt; `posix` comes from `posix`.

    `match` says when two answers are the same, `correct` when one is the expected one.
    """
    scored = compared(analysis)
    log_probs = target_log_probs(analysis, scored.places)
    several = len(log_probs) > 1
    probabilities = np.exp(log_probs)
    replies = compared_answers(analysis, answers, match)
    keys = answer_keys(analysis, answers, replies.places, match)
    reference = keys.get(0)
    others = [key for place, key in keys.items() if place != 0]
    judged = list(judgements(analysis, answers, correct).values())
    return Sensitivity(
        prompts=len(log_probs),
        left_out=scored.left_out,
        worst=float(log_probs.min()) if several else None,
        mean=float(log_probs.mean()) if several else None,
        best=float(log_probs.max()) if several else None,
        spread=float(np.ptp(log_probs)) if several else None,
        worst_probability=float(probabilities.min()) if several else None,
        mean_probability=float(probabilities.mean()) if several else None,
        best_probability=float(probabilities.max()) if several else None,
        cps=cps(probabilities) if several else None,
        posix=posix,
        match=match,
        answers=len(keys),
        answers_left_out=replies.left_out,
        flip_rate=sum(key != reference for key in others) / len(others) if others and 0 in keys else None,
        same_answer=len(set(keys.values())) == 1 if len(keys) > 1 else None,
        distinct_answers=len(set(keys.values())) if keys else None,
        correct=correct,
        judged=len(judged),
        right=sum(judged) / len(judged) if judged else None,
        all_right=all(judged) if judged else None,
        any_right=any(judged) if judged else None,
    )


def posix(log_probs: Float[np.ndarray, "prompt prompt"], lengths: Sequence[int]) -> float | None:
    """ψ = 1/(N(N−1)) Σ_i Σ_j |log P(y_j|x_i) − log P(y_j|x_j)| / L_j, in nats per token.

    `log_probs[i, j]` is log P(response j | prompt i) and L_j the length of response j in tokens, its
    end token included: the paper's formula. None for fewer than two prompts.
    """
    return mean_of_pairs(moved_per_token(log_probs, lengths))


def moved_per_token(
    log_probs: Float[np.ndarray, "prompt prompt"], lengths: Sequence[int]
) -> Float[np.ndarray, "prompt prompt"]:
    """|log P(y_j|x_i) − log P(y_j|x_j)| / L_j at [i, j], in nats per token: what POSIX is the mean of."""
    return np.abs(changed_per_token(log_probs, lengths))


def changed_per_token(
    log_probs: Float[np.ndarray, "prompt prompt"], lengths: Sequence[int]
) -> Float[np.ndarray, "prompt prompt"]:
    """(log P(y_j|x_i) − log P(y_j|x_j)) / L_j at [i, j]: below 0 where an answer is likelier after its own prompt."""
    return (log_probs - np.diagonal(log_probs)) / np.asarray(lengths, dtype=np.float64)


def cps(scores: Float[np.ndarray, " prompt"]) -> float:
    """(1 − (max − mean)) · max of scores between 0 and 1: high where the best is high and usual."""
    best = float(scores.max())
    return (1 - (best - float(scores.mean()))) * best


def compared(analysis: Analysis) -> Compared:
    """The rows that share the set's target."""
    common = analysis.target.ids if analysis.target else None
    return _compared(
        analysis,
        ["own_target" if result.trace and result.trace.target.ids != common else None for result in analysis.prompts],
    )


def compared_answers(analysis: Analysis, answers: Sequence[Answer | None] | None, match: Match) -> Compared:
    """The rows whose answers are compared with one another."""
    if answers is None:
        return Compared((), LeftOut())
    expected = analysis.prompts[0].row.expected
    reasons: list[str | None] = []
    for result, answer in zip(analysis.prompts, answers, strict=True):
        if answer is None or (match == "contains" and not result.row.expected):
            reasons.append("failed")
        elif match != "contains" and result.row.expected != expected:
            reasons.append("own_expected")
        else:
            reasons.append(None)
    return _compared(analysis, reasons)


def _compared(analysis: Analysis, reasons: Sequence[str | None]) -> Compared:
    """The rows without a reason to be left out, equal prompts once.

    Where all of them are equal, they stay: their spread is 0, which is not the same as unknown.
    """
    counts: dict[str, int] = {}
    kept: list[int] = []
    for place, (result, reason) in enumerate(zip(analysis.prompts, reasons, strict=True)):
        if result.trace is None:
            reason = "failed"
        elif result.row.is_control:
            reason = "controls"
        if reason is None:
            kept.append(place)
        else:
            counts[reason] = counts.get(reason, 0) + 1
    distinct = _distinct(analysis, kept)
    if len(distinct) > 1:
        counts["duplicates"] = len(kept) - len(distinct)
        kept = distinct
    return Compared(tuple(kept), LeftOut(**counts))


def _distinct(analysis: Analysis, places: Iterable[int]) -> list[int]:
    first: dict[Hashable, int] = {}
    for place in places:
        trace = analysis.prompts[place].trace
        assert trace is not None
        first.setdefault(trace.tokens.ids, place)
    return list(first.values())


def target_log_probs(analysis: Analysis, places: Sequence[int]) -> Float[np.ndarray, " prompt"]:
    """log p(target) after the prompts at these places, in nats."""
    traces = [analysis.prompts[place].trace for place in places]
    return np.array([trace.log_prob for trace in traces if trace is not None])


def answer_keys(
    analysis: Analysis, answers: Sequence[Answer | None] | None, places: Sequence[int], match: Match
) -> dict[int, Hashable]:
    """What answers that count as the same have in common, by place."""
    keys: dict[int, Hashable] = {}
    for place in places:
        answer, expected = answers[place] if answers else None, analysis.prompts[place].row.expected
        if answer is not None:
            keys[place] = (
                is_expected(answer, expected) if match == "contains" and expected else answer_key(answer, match)
            )
    return keys


def judgements(
    analysis: Analysis, answers: Sequence[Answer | None] | None, correct: Match = "contains"
) -> dict[int, bool]:
    """Right or wrong, by place, for every distinct answered row that expects something."""
    if answers is None:
        return {}
    return {
        place: is_expected(answer, expected, correct)
        for place in judged_answers(analysis, answers).places
        if (answer := answers[place]) is not None and (expected := analysis.prompts[place].row.expected)
    }


def judged_answers(analysis: Analysis, answers: Sequence[Answer | None] | None) -> Compared:
    """The rows whose answer is compared with the expected one."""
    if answers is None:
        return Compared((), LeftOut())
    pairs = zip(answers, (result.row.expected for result in analysis.prompts), strict=True)
    return _compared(analysis, [None if answer is not None and expected else "failed" for answer, expected in pairs])
