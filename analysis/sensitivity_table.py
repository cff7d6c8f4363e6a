"""Every metric of one prompt set, each with its unit, number of wordings, interval, definition and source."""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from analysis import intervals
from analysis.answers_match import Match
from analysis.matrices import divergences
from analysis.metrics import (
    jsd_of_many,
    largest_pss,
    mean_of_pairs,
    pss,
    resamplings,
    resamplings_of_many,
    score_differences,
)
from analysis.results import Analysis, Answer, CandidateScores
from analysis.sensitivity import ResponseScores, Sensitivity, compared, moved_per_token, sensitivity, target_log_probs
from analysis.sensitivity_answers import of_answers, of_candidates, of_right_answers, right_answers, right_note
from analysis.sensitivity_metric import (
    CHATTERJEE,
    ENDS,
    FEW,
    LIN,
    MIZRAHI,
    RELIABLE,
    SCLAR,
    UNANSWERED,
    ZHUO,
    Metric,
    bootstrap_note,
    known,
    notes,
    omitted,
)

EPSILON = 0.05  # how near the mean of some wordings is to be to the mean of all, for "wordings needed"
DELTA = 0.05  # how often it may be farther away

Values = Float[np.ndarray, " prompt"]


def metrics(
    analysis: Analysis,
    answers: Sequence[Answer | None] | None = None,
    responses: ResponseScores | None = None,
    match: Match = "first line",
    candidates: Sequence[CandidateScores | None] | None = None,
    *,
    correct: Match = "contains",
    jsd: Float[np.ndarray, "prompt prompt"] | None = None,
    seed: int = 0,
) -> tuple[Metric, ...]:
    """Every metric of one set, in reading order; `answers` and `candidates` have one entry per prompt.

    `match` says when two answers are the same, `correct` when one is the expected one. `jsd` are the divergences
    of the prompts at `compared(analysis).places`, where they were computed already. `seed` is the intervals'.
    """
    posix = responses.posix if responses else None
    figures = sensitivity(analysis, answers, match=match, correct=correct, posix=posix)
    places = compared(analysis).places
    log_probs = target_log_probs(analysis, places)
    left_out = omitted(figures.left_out)
    right, right_left_out = right_answers(analysis, answers, figures), right_note(analysis, answers, figures)
    made = (
        *of_answers(analysis, answers, figures, seed),
        *of_candidates(analysis, candidates, seed),
        *of_right_answers(analysis, answers, figures, seed),
        _posix(responses, left_out, answers is not None, seed),
        *_log_prob(log_probs, figures, seed),
        *_probability(np.exp(log_probs), figures, seed),
        *_jsd(analysis, places, jsd, left_out, seed),
        _needed("needed", "wordings for a stable mean of p(target)", np.exp(log_probs), left_out),
        _needed("needed_right", "wordings for a stable share of right answers", right, right_left_out),
    )
    return tuple(known(metric) for metric in made)


def _posix(responses: ResponseScores | None, left_out: str, answered: bool, seed: int) -> Metric:
    moved = None if responses is None else moved_per_token(responses.log_probs, responses.lengths)
    interval = None if moved is None else intervals.of_pairs(moved, seed)
    missing = "" if responses else "the answers were not scored after every wording" if answered else UNANSWERED
    return Metric(
        "posix", "POSIX", None if responses is None else responses.posix, "nats per token",
        len(responses.places) if responses else 0, interval,
        "1/(N(N−1)) Σ_i Σ_j |log P(y_j | x_i) − log P(y_j | x_j)| / L_j, with y_j the greedy answer to wording x_j and L_j its"
        " tokens, an end token included.", CHATTERJEE,
        "0: every answer is as likely after every other wording as after its own",
        "no upper limit: 2.3 divides each token's probability by ten",
        notes(missing, left_out, bootstrap_note(interval, len(responses.places) if responses else 0, pairs=True)),
    )  # fmt: skip


def _log_prob(log_probs: Values, figures: Sensitivity, seed: int) -> list[Metric]:
    n = len(log_probs)
    note = notes(omitted(figures.left_out), "" if n > 1 else FEW)
    interval = intervals.of_mean(log_probs, seed)
    says = "log p(target), summed over the target's tokens"
    return [
        Metric(
            "spread", "spread of log p(target)", figures.spread, "nats", n, None,
            f"The highest minus the lowest {says}.", SCLAR, "0: equally likely after every wording",
            "no upper limit; it can only grow with N", notes(note, ENDS),
        ),
        Metric(
            "worst", "worst log p(target)", figures.worst, "nats", n, None,
            f"The lowest {says}.", MIZRAHI, "no lower limit", "0: certain after every wording", notes(note, ENDS),
        ),
        Metric(
            "mean", "mean log p(target)", figures.mean, "nats", n, interval,
            f"The mean of {says}.", MIZRAHI, "no lower limit", "0: certain after every wording",
            notes(note, bootstrap_note(interval, n)),
        ),
        Metric(
            "best", "best log p(target)", figures.best, "nats", n, None,
            f"The highest {says}.", MIZRAHI, "no lower limit", "0: certain after some wording", notes(note, ENDS),
        ),
    ]  # fmt: skip


def _probability(p: Values, figures: Sensitivity, seed: int) -> list[Metric]:
    n = len(p)
    note = notes(omitted(figures.left_out), "" if n > 1 else FEW)
    interval = intervals.of_mean(p, seed)
    pairs = intervals.of_pairs(score_differences(p), seed, largest_pss(n) or math.inf)
    most = largest_pss(n)
    return [
        Metric(
            "spread_probability", "spread of p(target)", float(np.ptp(p)) if n > 1 else None, "", n, None,
            "The highest minus the lowest p(target).", SCLAR, "0: equally likely after every wording",
            "1: certain after one wording, impossible after another; it can only grow with N", notes(note, ENDS),
        ),
        Metric(
            "mean_probability", "mean p(target)", figures.mean_probability, "", n, interval,
            "The mean of p(target).", MIZRAHI, "0: impossible after every wording", "1: certain after every wording",
            notes(note, bootstrap_note(interval, n)),
        ),
        Metric(
            "pss_probability", "PromptSensiScore of p(target)", pss(p), "", n, pairs,
            "Σ_(i<j) |Y_i − Y_j| / C(N, 2) with Y = p(target).", ZHUO, "0: equally likely after every wording",
            "the most for this N" if most is None else f"{most:.3f} for this N: half certain, half impossible",
            notes(note, bootstrap_note(pairs, n, pairs=True)),
        ),
        Metric(
            "cps", "combined performance score of p(target)", figures.cps, "", n, None,
            "(1 − (max − mean)) · max of p(target).", MIZRAHI, "0: impossible after every wording",
            "1: certain after every wording", notes(note, ENDS),
        ),
    ]  # fmt: skip


def _jsd(
    analysis: Analysis,
    places: Sequence[int],
    matrix: Float[np.ndarray, "prompt prompt"] | None,
    left_out: str,
    seed: int,
) -> list[Metric]:
    traces = [trace for place in places if (trace := analysis.prompts[place].trace) is not None]
    logs = [trace.next_log_probs for trace in traces]
    n = len(logs)
    matrix = divergences(logs) if matrix is None else matrix
    interval = intervals.of_pairs(matrix, seed)
    note = notes(left_out, "" if n > 1 else FEW)
    return [
        Metric(
            "jsd", "JSD of the next token, mean of pairs", mean_of_pairs(matrix), "nats", n, interval,
            "The Jensen–Shannon divergence of the next-token distributions after two wordings, mean over all pairs.", LIN,
            "0: what comes next never depends on the wording",
            "0.693 (ln 2): no token is possible after two of them", notes(note, bootstrap_note(interval, n, pairs=True)),
        ),
        Metric(
            "jsd_many", "JSD of the next token, all at once", jsd_of_many(np.stack(logs)) if n > 1 else None, "nats", n,
            None, "H(mean distribution) − mean H: how much one more knows of the next token by knowing the wording.", LIN,
            "0: what comes next never depends on the wording",
            f"{np.log(n):.3f} (ln N): no token is possible after two of them" if n > 1 else "ln N",
            notes(note, "no interval: resamples repeat wordings, which lowers it"),
        ),
    ]  # fmt: skip


def _needed(key: str, name: str, scores: Values, left_out: str) -> Metric:
    n, value, of_all = len(scores), resamplings(scores, EPSILON, DELTA), resamplings_of_many(scores, EPSILON, DELTA)
    more = "" if of_all is None else f"for the mean of all wordings that could be written: about {of_all}"
    return Metric(
        key, name, value, "wordings", n, None,
        f"The smallest n with 1.96 · s/√n · √((N−n)/(N−1)) ≤ {EPSILON}: the mean of n of these N wordings is then within {EPSILON}"
        " of the mean of all N in 95 of 100 draws (normal quantile).", RELIABLE,
        "1: any wording will do", f"{n}, all of them: fewer would say something else" if n else "N: all of them",
        notes(left_out, more, "" if n > 1 else FEW),
    )  # fmt: skip
