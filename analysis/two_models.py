"""The same prompt set on two models: do the same wordings help and harm both?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from analysis import intervals
from analysis.agreement import rank_correlation
from analysis.answers_match import Match
from analysis.charts.words import signed
from analysis.intervals import Counts, Interval
from analysis.results import Analysis, Answer
from analysis.sensitivity import answer_keys, compared, judgements, sensitivity
from analysis.text import shortened

FEWEST = 4  # wordings: a rank correlation of three takes one of four values


@dataclass(frozen=True)
class OneSide:
    """What one model says of one wording; None where it has no number."""

    log_prob: float | None  # of the target's tokens on this model, nats
    delta: float | None  # against the reference on the same model, nats
    answer: Answer | None
    flipped: bool | None  # the answer is not the one that this model gives to the reference
    right: bool | None


@dataclass(frozen=True)
class RowOnBoth:
    """One wording on both models."""

    index: int  # Row.index
    label: str
    text: str
    control: bool
    compared: bool  # counts in the rank correlation
    first: OneSide
    second: OneSide


@dataclass(frozen=True)
class OneModel:
    """The figures of the set on one model, over the wordings that can be compared on it."""

    name: str
    target: str  # as this model's tokens decode
    target_tokens: int
    spread: float | None  # of log p(target), nats
    posix: float | None  # nats per token
    flip_rate: float | None
    right: float | None


@dataclass(frozen=True)
class Comparison:
    """Deltas, answers and figures side by side."""

    first: OneModel
    second: OneModel
    rows: tuple[RowOnBoth, ...]  # the reference first
    match: Match
    n: int  # rewordings whose effects are compared
    correlation: float | None  # Spearman's ρ of Δ on one model with Δ on the other; None for fewer than four
    interval: Interval | None  # 95 %, rewordings resampled
    same_direction: int  # of the n: Δ has the same sign on both

    @property
    def same_target(self) -> bool:
        return self.first.target == self.second.target


def compare(
    first: Analysis,
    first_answers: Sequence[Answer | None] | None,
    first_posix: float | None,
    second: Analysis,
    second_answers: Sequence[Answer | None] | None,
    second_posix: float | None,
    *,
    match: Match = "first line",
    correct: Match = "contains",
    seed: int = 0,
) -> Comparison:
    """Two analyses of one prompt set; each model's numbers are its own, from the target as it encodes it.

    Log-probs of two models over different vocabularies are not compared, only their changes and ranks.
    """
    if first.prompt_set.rows() != second.prompt_set.rows():
        raise ValueError("the two analyses are of different prompt sets, so their wordings cannot be set side by side")
    common = set(compared(first).places) & set(compared(second).places) - {0}
    sides = [
        _sides(first, first_answers, match, correct),
        _sides(second, second_answers, match, correct),
    ]
    rows = tuple(
        RowOnBoth(
            result.row.index,
            result.label,
            result.row.prompt.text,
            result.row.is_control,
            place in common and one.delta is not None and other.delta is not None,
            one,
            other,
        )
        for place, (result, one, other) in enumerate(zip(first.prompts, *sides, strict=True))
    )
    deltas = np.array([(row.first.delta, row.second.delta) for row in rows if row.compared], dtype=np.float64).reshape(
        -1, 2
    )
    enough = len(deltas) >= FEWEST
    return Comparison(
        _model(first, first_answers, match, correct, first_posix),
        _model(second, second_answers, match, correct, second_posix),
        rows,
        match,
        len(deltas),
        rank_correlation(deltas[:, 0], deltas[:, 1]) if enough else None,
        correlation_interval(deltas[:, 0], deltas[:, 1], seed) if enough else None,
        int((np.sign(deltas[:, 0]) == np.sign(deltas[:, 1])).sum()),
    )


def correlation_interval(
    a: Float[np.ndarray, " prompt"], b: Float[np.ndarray, " prompt"], seed: int = 0
) -> Interval | None:
    """For Spearman's ρ of two numbers per prompt; prompts are resampled, resamples with a constant side left out."""
    from scipy.stats import rankdata  # takes a second to import

    def correlation(counts: Counts) -> Float[np.ndarray, " resample"]:
        chosen = np.array([np.repeat(np.arange(len(a)), row) for row in counts.astype(int)])  # [resample, prompt]
        x, y = (rankdata(values[chosen], axis=1) - (len(a) + 1) / 2 for values in (a, b))
        sizes = np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
        return np.divide((x * y).sum(axis=1), sizes, out=np.full(len(sizes), np.nan), where=sizes > 0)

    return intervals.bootstrap(correlation, len(a), seed)


def _sides(analysis: Analysis, answers: Sequence[Answer | None] | None, match: Match, correct: Match) -> list[OneSide]:
    keys = answer_keys(analysis, answers, range(len(analysis.prompts)), match)
    right = judgements(analysis, answers, correct)
    return [
        OneSide(
            result.trace.log_prob if result.trace else None,
            result.delta,
            answers[place] if answers else None,
            keys[place] != keys[0] if place in keys and 0 in keys else None,
            right.get(place),
        )
        for place, result in enumerate(analysis.prompts)
    ]


def _model(
    analysis: Analysis,
    answers: Sequence[Answer | None] | None,
    match: Match,
    correct: Match,
    posix: float | None,
) -> OneModel:
    figures = sensitivity(analysis, answers, match=match, correct=correct, posix=posix)
    target = analysis.target
    return OneModel(
        analysis.model.name,
        target.text if target else "",
        len(target) if target else 0,
        figures.spread,
        figures.posix,
        figures.flip_rate,
        figures.right,
    )


def finding(found: Comparison) -> str:
    """Whether the same wordings help and harm both models."""
    names = f"{_quoted(found.first.name)} and {_quoted(found.second.name)}"
    parts = [_effects(found, names)]
    if found.first.posix is not None and found.second.posix is not None:
        parts.append(f"POSIX {found.first.posix:.2f} and {found.second.posix:.2f} nats per token")
    if found.first.flip_rate is not None and found.second.flip_rate is not None:
        shares = f"{100 * found.first.flip_rate:.0f} % and {100 * found.second.flip_rate:.0f} %"
        parts.append(f"{shares} of the rewordings change the answer")
    caution = ""
    if not found.same_target:
        caution = (
            f" The targets differ ({_quoted(found.first.target)} and {_quoted(found.second.target)}), so these are not changes of"
            " one thing: type a target."
        )
    return f"{'; '.join(parts)}.{caution}"


def _effects(found: Comparison, names: str) -> str:
    if found.n == 0:
        return f"No rewording has a comparable effect on both {names}"
    same = f"{found.same_direction} of {found.n} rewordings move log p(target) the same way on {names}"
    if found.correlation is None:
        return f"{same}; too few, or too equal, for a rank correlation"
    rho = found.correlation
    words = "hardly agree" if abs(rho) < 0.3 else "partly agree" if rho < 0.7 else "agree closely"
    if rho <= -0.3:
        words = "are opposite"
    ends = f"; 95 %: {signed(found.interval[0])} to {signed(found.interval[1])}" if found.interval else ""
    return f"{same}; the effects {words} (rank correlation {signed(rho)} over {found.n}{ends})"


def _quoted(text: str) -> str:
    return f'"{shortened(text, 40)}"'
