"""Taking results away: JSON, CSV and a report; and how pictures of charts are saved."""

from collections.abc import Sequence

import streamlit as st

from analysis import findings
from analysis.contrast import Contrast
from analysis.report import to_csv, to_html, to_json
from analysis.report_extras import Patches, extras
from analysis.report_figures import report_figures
from analysis.responses import response_scores
from analysis.results import Analysis, Answer, CandidateScores
from analysis.sensitivity import Sensitivity, sensitivity
from pages.shared import display, session

SCORED_ROWS = 16  # up to here every answer is scored after every prompt while the file is written


def draw(
    page: session.Page,
    analysis: Analysis,
    answers: Sequence[Answer | None] | None,
    candidates: Sequence[CandidateScores | None] | None,
    patches: Patches | None = None,
    contrast: Contrast | None = None,
) -> None:
    """A popover; nothing is written before it is asked for."""
    with st.popover("Export", icon=":material/download:", key="export"):
        if answers is None:
            st.text("The answers are not there yet (Explore writes them), so the files leave them out.")
        files = {
            "All results (JSON)": (
                "result.json",
                "application/json",
                lambda: to_json(
                    analysis,
                    page.loaded.lm.encoder.piece,
                    answers=answers,
                    candidates=candidates,
                    sensitivity=_sensitivity(page, analysis, answers),
                    extras=extras(analysis, patches, contrast),
                ),
            ),
            "A row per prompt (CSV)": ("result.csv", "text/csv", lambda: to_csv(analysis, answers, candidates)),
            "Report (HTML)": ("report.html", "text/html", lambda: _report(page, analysis, answers, candidates)),
        }
        for label, (name, mime, write) in files.items():
            st.download_button(label, write, file_name=name, mime=mime, on_click="ignore", key=f"file {name}")
        display.picture_choice()
        display.presenter_toggle()


def _sensitivity(page: session.Page, analysis: Analysis, answers: Sequence[Answer | None] | None) -> Sensitivity:
    """The figures of the whole set; POSIX where its N² scores take moments."""
    lm, scores = page.loaded.lm, page.loaded.caches.scores
    few = answers is not None and len(analysis.prompts) <= SCORED_ROWS
    responses = response_scores(lm, analysis, answers, scores) if few and answers is not None else None
    return sensitivity(analysis, answers, posix=responses.posix if responses else None)


def _report(
    page: session.Page,
    analysis: Analysis,
    answers: Sequence[Answer | None] | None,
    candidates: Sequence[CandidateScores | None] | None,
) -> str:
    return to_html(
        analysis,
        finding=findings.explore(analysis, answers),
        answers=answers,
        candidates=candidates,
        sensitivity=_sensitivity(page, analysis, answers),
        figures=report_figures(analysis, page.loaded.lm.encoder.name_of),
    )
