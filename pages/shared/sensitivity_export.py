"""What the Sensitivity page takes away besides the set's results."""

from collections.abc import Sequence

from analysis.answers_match import Match
from analysis.report_pages import sampled_json, two_models_json
from analysis.report_variants import edits_json, noise_json
from analysis.results import Analysis, Answer, CandidateScores
from analysis.significance_results import NoiseTest
from analysis.two_models import Comparison
from pages.shared import culprit, export, sampled, session


def draw(
    page: session.Page,
    analysis: Analysis,
    answers: Sequence[Answer | None] | None,
    candidates: Sequence[CandidateScores | None] | None,
    matches: tuple[Match, Match],
    samples: sampled.Sampled | None,
    tests: Sequence[NoiseTest] | None,
    comparison: Comparison | None,
) -> None:
    """The popover; what was not computed is null in the JSON."""
    keys: dict[str, object] = {
        "edits": [edits_json(one) for one in culprit.known(page, analysis)] or None,
        "noise": [noise_json(test) for test in tests] if tests else None,
        "sampled": sampled_json(analysis, samples.shares, samples.temperature, samples.seed) if samples else None,
        "two_models": two_models_json(comparison) if comparison else None,
    }
    settings = export.Settings(*matches, keys=keys, tables=True)
    export.draw(page, analysis, answers, candidates, settings=settings)
