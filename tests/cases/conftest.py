"""Every case is run once, by the product's own path, on the default model."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from analysis import candidate_findings, findings
from analysis.explore import Caches, analyse, candidate_scores
from analysis.model import LanguageModel
from analysis.results import Analysis, CandidateScores, PromptResult, Trace
from tests.cases.reading import CASES, Case


@dataclass(frozen=True, eq=False)
class Run:
    """A case with what the product says about it."""

    case: Case
    analysis: Analysis
    scores: tuple[CandidateScores | None, ...]

    def row(self, label: str = "reference") -> PromptResult:
        return next(result for result in self.analysis.prompts if result.label == label)

    def trace(self, label: str = "reference") -> Trace:
        trace = self.row(label).trace
        assert trace is not None
        return trace

    def notes(self, label: str = "reference") -> str:
        """The row's notes, one a line."""
        return "\n".join(note.text for note in self.row(label).notes)

    def candidates(self, label: str = "reference") -> CandidateScores:
        scores = self.scores[self.analysis.prompts.index(self.row(label))]
        assert scores is not None
        return scores

    def log_prob(self, text: str, label: str = "reference") -> float:
        """log p(candidate) after a row, summed over its tokens."""
        scores = self.candidates(label)
        return float(scores.sums[scores.texts.index(text)])

    def likeliest(self, label: str = "reference") -> str:
        scores = self.candidates(label)
        return scores.texts[int(scores.sums.argmax())]

    @property
    def set_notes(self) -> str:
        return "\n".join(note.text for note in self.analysis.notes)

    @property
    def finding(self) -> str:
        return findings.explore(self.analysis)

    @property
    def candidate_finding(self) -> str:
        return candidate_findings.candidates(self.analysis, self.scores)


Runner = Callable[..., Run]


@pytest.fixture(scope="session")
def caches() -> Caches:
    return Caches()


@pytest.fixture(scope="session")
def run(default_lm: LanguageModel, caches: Caches) -> Runner:
    """run("C02", target="and"): the case with settings of the set replaced."""

    @cache
    def run(name: str, **settings: Any) -> Run:
        analysis = analyse(default_lm, CASES[name].prompt_set(**settings), caches, attributions=False)
        return Run(CASES[name], analysis, candidate_scores(default_lm, analysis, caches))

    return run
