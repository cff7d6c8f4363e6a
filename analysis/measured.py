"""All that is measured of a set's sensitivity, for files."""

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.answer_groups import AnswerGroup, groups
from analysis.answers_match import Match
from analysis.matrices import PairMatrix, delta_matrix, jsd_matrix, response_matrix
from analysis.results import Analysis, Answer, CandidateScores
from analysis.sensitivity import ResponseScores, compared
from analysis.sensitivity_metric import Metric
from analysis.sensitivity_table import metrics


@dataclass(frozen=True, eq=False)
class Measured:
    """What goes with `sensitivity.Sensitivity`, made by the same two matches."""

    metrics: tuple[Metric, ...]
    groups: tuple[AnswerGroup, ...]
    responses: ResponseScores | None
    matrices: tuple[PairMatrix, ...]  # of Δ, of divergences, and of responses where they were scored


def measured(
    analysis: Analysis,
    answers: Sequence[Answer | None] | None = None,
    responses: ResponseScores | None = None,
    match: Match = "first line",
    candidates: Sequence[CandidateScores | None] | None = None,
    *,
    correct: Match = "contains",
    seed: int = 0,
) -> Measured:
    """Everything at once; the parameters are those of `sensitivity_table.metrics`."""
    divergences = jsd_matrix(analysis)
    chosen = [divergences.places.index(place) for place in compared(analysis).places]
    known = divergences.values[chosen][:, chosen]
    return Measured(
        metrics(analysis, answers, responses, match, candidates, correct=correct, jsd=known, seed=seed),
        groups(analysis, answers, match, correct),
        responses,
        (delta_matrix(analysis), divergences, *([response_matrix(responses)] if responses else [])),
    )
