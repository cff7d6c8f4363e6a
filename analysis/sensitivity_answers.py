"""The metrics of a prompt set that are made of its greedy answers and of its candidates."""

import math
from collections.abc import Hashable, Sequence

import numpy as np

from analysis import intervals
from analysis.answers_match import SAYS, is_expected
from analysis.metrics import largest_pss, pss, score_differences, sensitivity_of
from analysis.results import Analysis, Answer, CandidateScores
from analysis.sensitivity import Sensitivity, answer_keys, compared, compared_answers, judged_answers, judgements
from analysis.sensitivity_metric import (
    ERRICA,
    FEW,
    UNANSWERED,
    UNEXPECTED,
    ZHUO,
    Metric,
    bootstrap_note,
    notes,
    omitted,
)

REPEATS = "no interval: resamples repeat answers, which lowers the entropy"


def of_answers(
    analysis: Analysis, answers: Sequence[Answer | None] | None, figures: Sensitivity, seed: int
) -> list[Metric]:
    """How often the answer changes, and between how many."""
    keys = answer_keys(analysis, answers, compared_answers(analysis, answers, figures.match).places, figures.match)
    n, flip_rate = figures.answers, figures.flip_rate
    note = notes(UNANSWERED if answers is None else omitted(figures.answers_left_out), "" if n > 1 else FEW)
    same = f"Answers are compared by {SAYS[figures.match]}."
    variants = 0 if flip_rate is None else n - 1
    flips = None if flip_rate is None else intervals.wilson(round(flip_rate * variants), variants)
    classes, possible, counted = _classes(analysis, answers, keys, figures)
    return [
        Metric(
            "flip_rate", "flip rate", flip_rate, "", variants, flips,
            f"Share of the rewordings whose greedy answer is not the reference's. {same}", "",
            "0: no rewording changes the answer", "1: every rewording changes it", notes(note, _wilson(flips)),
        ),
        Metric(
            "same_answer", "all answers are the same", figures.same_answer, "", n, None,
            f"Whether one greedy answer is given after every wording. {same}", "",
            "no: the wording decides", "yes: stable, which is not yet right", note,
        ),
        Metric(
            "sensitivity", "sensitivity of the answers", sensitivity_of(classes, possible) if n > 1 else None, "", n,
            intervals.of_entropy(classes, possible, seed) if possible < n else None,
            f"H(p̄)/ln C: the entropy of the shares of the answers over its largest value. {counted}. {same}", ERRICA,
            "0: one answer after every wording", "1: every possible answer equally often",
            notes(note, REPEATS if possible >= n > 1 else ""),
        ),
    ]  # fmt: skip


def _classes(
    analysis: Analysis,
    answers: Sequence[Answer | None] | None,
    keys: dict[int, Hashable],
    figures: Sensitivity,
) -> tuple[list[Hashable], int, str]:
    """The class of each compared answer, how many there can be, and why so many."""
    declared = analysis.reference.row.candidates
    if declared and answers is not None:
        names = list(dict.fromkeys(declared))
        found: list[Hashable] = []
        for place in keys:
            answer = answers[place]
            said = [name for name in names if answer is not None and is_expected(answer, name, figures.match)]
            found.append(said[0] if len(said) == 1 else None)
        counted = f"C = {len(names) + 1}: the {len(names)} candidates, and answers that say none of them or several"
        return found, len(names) + 1, counted
    if figures.match == "contains":
        return list(keys.values()), 2, "C = 2: as expected, or not"
    return list(keys.values()), len(keys), f"C = N = {len(keys)}, since answers are free text"


def of_candidates(analysis: Analysis, candidates: Sequence[CandidateScores | None] | None, seed: int) -> list[Metric]:
    """The sensitivity of the likeliest candidate, which needs no parsing; nothing without candidates."""
    first = candidates[0] if candidates else None
    if candidates is None or first is None:
        return []
    scored = compared(analysis)
    known = [scores for place in scored.places if (scores := candidates[place]) is not None]
    chosen = [scores.texts[int(scores.sums.argmax())] for scores in known if scores.texts == first.texts]
    possible, apart = len(set(first.texts)), len(known) - len(chosen)
    own = f"{apart} with candidates of their own left out" if apart else ""
    return [
        Metric(
            "candidate_sensitivity", "sensitivity of the likeliest candidate",
            sensitivity_of(chosen, possible) if len(chosen) > 1 else None, "", len(chosen),
            intervals.of_entropy(chosen, possible, seed),
            f"H(p̄)/ln C of the candidate with the highest log p after each wording. C = {possible} candidates.", ERRICA,
            "0: one candidate is likeliest after every wording", "1: every candidate equally often",
            notes(omitted(scored.left_out), own, "" if len(chosen) > 1 else FEW),
        )
    ]  # fmt: skip


def of_right_answers(
    analysis: Analysis, answers: Sequence[Answer | None] | None, figures: Sensitivity, seed: int
) -> list[Metric]:
    """How many answers are right, and how many pairs of wordings disagree about it."""
    right = right_answers(analysis, answers, figures)
    n = len(right)
    note = right_note(analysis, answers, figures)
    judged = f"Answers are compared with the expected one by {SAYS[figures.correct]}."
    share = intervals.wilson(int(right.sum()), n)
    value, most = pss(right), largest_pss(n)
    interval = intervals.of_pairs(score_differences(right), seed, most or math.inf)
    several = notes(note, FEW if n == 1 else "", bootstrap_note(interval, n, pairs=True))
    return [
        Metric(
            "right", "right answers", figures.right, "", n, share,
            f"Share of the wordings whose greedy answer is right. {judged}", "",
            "0: wrong after every wording", "1: right after every wording", notes(note, _wilson(share)),
        ),
        Metric(
            "all_right", "all right", figures.all_right, "", n, None,
            f"Whether the answer is right after every wording. {judged}", "",
            "no: some wording gets a wrong answer", "yes: no wording does", note,
        ),
        Metric(
            "any_right", "any right", figures.any_right, "", n, None,
            f"Whether the answer is right after some wording. {judged}", "",
            "no: no wording finds the right answer", "yes: the model can say it", note,
        ),
        Metric(
            "pss", "PromptSensiScore of right and wrong", value, "", n, interval,
            f"Σ_(i<j) |Y_i − Y_j| / C(N, 2) with Y = 1 for a right answer and 0 for a wrong one. {judged}", ZHUO,
            "0: all right or all wrong",
            "its maximum: half of them right" if most is None else f"{most:.3f} for this N: half of them right", several,
        ),
        Metric(
            "pss_share", "PromptSensiScore, share of its maximum",
            None if value is None or most is None else value / most, "", n,
            None if interval is None or most is None else (interval[0] / most, interval[1] / most),
            "The same divided by its largest value, N/(2(N − 1)) for even N and (N + 1)/(2N) for odd N.", ZHUO,
            "0: all right or all wrong", "1: half of them right", several,
        ),
    ]  # fmt: skip


def right_answers(analysis: Analysis, answers: Sequence[Answer | None] | None, figures: Sensitivity) -> np.ndarray:
    """1 or 0 for every judged answer."""
    return np.array(list(judgements(analysis, answers, figures.correct).values()), dtype=np.float64)


def right_note(analysis: Analysis, answers: Sequence[Answer | None] | None, figures: Sensitivity) -> str:
    """What is left out of the judged answers, or why there are none."""
    if answers is None:
        return UNANSWERED
    return omitted(judged_answers(analysis, answers).left_out) if figures.judged else UNEXPECTED


def _wilson(interval: intervals.Interval | None) -> str:
    return "Wilson interval" if interval else ""
