"""Taking results away: JSON, CSV and a report; and how pictures of charts are saved."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import streamlit as st

from analysis import findings
from analysis.answers_match import Match
from analysis.contrast import Contrast
from analysis.measured import Measured, measured
from analysis.report import to_csv, to_html, to_json
from analysis.report_extras import Patches, extras
from analysis.report_figures import report_figures
from analysis.report_sensitivity import matrices_csv, metrics_csv
from analysis.responses import response_scores
from analysis.results import Analysis, Answer, CandidateScores
from analysis.sensitivity import Sensitivity, sensitivity
from pages.shared import display, session

RESPONSES = "scoring every answer after every wording"  # what the page says while it does so
SCORED_ROWS = 16  # up to here every answer is scored after every prompt while the file is written
Files = Mapping[str, tuple[str, str, Callable[[], str]]]  # label → file name, MIME type, what writes it


@dataclass(frozen=True)
class Settings:
    """What a page adds: how answers are compared on it, further keys of the JSON, and further files."""

    match: Match = "first line"
    correct: Match = "contains"
    keys: Mapping[str, object] = field(default_factory=dict)
    tables: bool = False


def draw(
    page: session.Page,
    analysis: Analysis,
    answers: Sequence[Answer | None] | None,
    candidates: Sequence[CandidateScores | None] | None,
    patches: Patches | None = None,
    contrast: Contrast | None = None,
    settings: Settings | None = None,
) -> None:
    """A popover; nothing is written before it is asked for."""
    own = settings or Settings()

    def figures() -> tuple[Sensitivity, Measured]:
        return _figures(page, analysis, answers, candidates, own)

    def result() -> str:
        summed, found = figures()
        return to_json(
            analysis,
            page.loaded.lm.encoder.piece,
            answers=answers,
            candidates=candidates,
            sensitivity=summed,
            measured=found,
            extras={**extras(analysis, patches, contrast), **own.keys},
        )

    def report() -> str:
        return to_html(
            analysis,
            finding=findings.explore(analysis, answers),
            answers=answers,
            candidates=candidates,
            sensitivity=figures()[0],
            figures=report_figures(analysis, page.loaded.lm.encoder.name_of),
        )

    files: dict[str, tuple[str, str, Callable[[], str]]] = {
        "All results (JSON)": ("result.json", "application/json", result),
        "A row per prompt (CSV)": ("result.csv", "text/csv", lambda: to_csv(analysis, answers, candidates)),
        "Report (HTML)": ("report.html", "text/html", report),
    }
    if own.tables:
        files |= {
            "A row per metric (CSV)": ("metrics.csv", "text/csv", lambda: metrics_csv(figures()[1].metrics)),
            "A row per pair (CSV)": ("pairs.csv", "text/csv", lambda: matrices_csv(analysis, figures()[1].matrices)),
        }
    popover(
        files, "" if answers else "The answers are not there yet (Explore writes them), so the files leave them out."
    )


def popover(files: Files, note: str = "") -> None:
    """The files, and how pictures of charts are saved."""
    with st.popover("Export", icon=":material/download:", key="export"):
        if note:
            st.text(note)
        for label, (name, mime, write) in files.items():
            st.download_button(label, write, file_name=name, mime=mime, on_click="ignore", key=f"file {name}")
        display.picture_choice()
        display.presenter_toggle()


def _figures(
    page: session.Page,
    analysis: Analysis,
    answers: Sequence[Answer | None] | None,
    candidates: Sequence[CandidateScores | None] | None,
    own: Settings,
) -> tuple[Sensitivity, Measured]:
    """All figures of the set; POSIX where its N² scores take moments, or were asked for on Sensitivity."""
    lm, scores = page.loaded.lm, page.loaded.caches.scores
    few = answers is not None and len(analysis.prompts) <= SCORED_ROWS
    responses = page.loaded.caches.other.get((RESPONSES, (page.prompt_set, "responses")))
    if responses is None and few and answers is not None:
        responses = response_scores(lm, analysis, answers, scores)
    found = measured(analysis, answers, responses, own.match, candidates, correct=own.correct)
    posix = responses.posix if responses else None
    return sensitivity(analysis, answers, match=own.match, correct=own.correct, posix=posix), found
