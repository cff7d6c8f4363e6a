"""Taking results away: JSON, CSV and a report; and how pictures of charts are saved."""

from collections.abc import Sequence

import streamlit as st

from analysis import findings
from analysis.charts import deltas, states
from analysis.charts.look import Look
from analysis.contrast import Contrast
from analysis.dispersion import dispersion
from analysis.report import to_csv, to_html, to_json
from analysis.report_extras import Patches, extras
from analysis.results import Analysis, Answer, CandidateScores
from analysis.sensitivity import sensitivity
from pages.shared import display, session


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
        found = sensitivity(analysis, answers)
        files = {
            "All results (JSON)": (
                "result.json",
                "application/json",
                lambda: to_json(
                    analysis,
                    page.loaded.lm.encoder.piece,
                    answers=answers,
                    candidates=candidates,
                    sensitivity=found,
                    extras=extras(analysis, patches, contrast),
                ),
            ),
            "A row per prompt (CSV)": ("result.csv", "text/csv", lambda: to_csv(analysis, answers, candidates)),
            "Report (HTML)": ("report.html", "text/html", lambda: _report(analysis, answers, candidates)),
        }
        for label, (name, mime, write) in files.items():
            st.download_button(label, write, file_name=name, mime=mime, on_click="ignore", key=f"file {name}")
        display.picture_choice()
        display.presenter_toggle()


def _report(
    analysis: Analysis,
    answers: Sequence[Answer | None] | None,
    candidates: Sequence[CandidateScores | None] | None,
) -> str:
    light = Look()
    results = [result for result in analysis.prompts if result.trace is not None]
    figures = []
    if results:
        traces = [result.trace for result in results if result.trace]
        figures = [
            ("Change of log p(target)", deltas.delta_bars(analysis, light)),
            ("Distance from the reference", states.distance_by_layer(dispersion(traces), results, light)),
        ]
    return to_html(
        analysis,
        finding=findings.explore(analysis, answers),
        answers=answers,
        candidates=candidates,
        sensitivity=sensitivity(analysis, answers),
        figures=figures,
    )
