"""The same set on a second model, side by side."""

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import streamlit as st

from analysis import explore, two_models
from analysis.answers_match import Match
from analysis.charts import two_models as charts
from analysis.charts.look import Look
from analysis.responses import response_scores
from analysis.results import Analysis, Answer
from analysis.tokens import shown
from pages.shared import display, export, models, session

WHAT = "asking the second model"
Answers = Sequence[Answer | None] | None


def draw(
    page: session.Page,
    analysis: Analysis,
    answers: Answers,
    posix: float | None,
    matches: tuple[Match, Match],
    look: Look,
    chosen: int,
) -> two_models.Comparison | None:
    """Deltas, answers and POSIX of both, and how far they agree on which wordings matter."""
    st.subheader("Two models")
    loaded = models.second()
    if loaded is None:
        st.text("Choose a second model to see whether the same wordings move it.")
        return None
    made = page.run(WHAT, loaded.lm.key, lambda report: _asked(loaded, page, report))
    if made is None:
        return None
    other, replies, other_posix = made
    if other.model.name == analysis.model.name:  # two folders of one name, or two precisions of one model
        other = replace(other, model=replace(other.model, name=f"{other.model.name}, the second"))
    match, correct = matches
    found = two_models.compare(analysis, answers, posix, other, replies, other_posix, match=match, correct=correct)
    st.text(two_models.finding(found))
    figure = charts.two_models(found, look, chosen)
    display.chart(figure, "two models", charts.HOW_TO_READ, session.select_from("two models"))
    _figures(found)
    _rows(found)
    return found


def _asked(loaded: models.Loaded, page: session.Page, report: session.Report) -> tuple[Analysis, Answers, float | None]:
    """The set analysed and answered by the second model; from its caches when nothing changed."""
    lm, caches = loaded.lm, loaded.caches
    made = explore.analyse(lm, page.prompt_set, caches, attributions=False, report=lambda share: report(share / 3))
    replies = explore.answers_of(lm, made, caches, lambda share: report((1 + share) / 3))
    if len(made.prompts) > export.SCORED_ROWS:
        return made, replies, None
    scored = response_scores(lm, made, replies, caches.scores, lambda share: report((2 + share) / 3))
    return made, replies, scored.posix if scored else None


def _figures(found: two_models.Comparison) -> None:
    sides = (found.first, found.second)
    frame = pd.DataFrame(
        {
            "model": [shown(side.name) for side in sides],
            "target": [shown(side.target) for side in sides],
            "spread, nats": [_number(side.spread, 2) for side in sides],
            "POSIX, nats per token": [_number(side.posix, 2) for side in sides],
            "flip rate": [_number(side.flip_rate, 2) for side in sides],
            "right": [_number(side.right, 2) for side in sides],
        }
    )
    st.dataframe(frame, hide_index=True, key="two models figures")


def _rows(found: two_models.Comparison) -> None:
    columns: dict[str, list[str]] = {"wording": [shown(row.label) for row in found.rows]}
    for model, side in ((found.first, "first"), (found.second, "second")):
        name = shown(model.name)
        columns[f"Δ, nats, {name}"] = [_number(getattr(row, side).delta, 2) for row in found.rows]
        columns[f"answer, {name}"] = [_answer(getattr(row, side).answer) for row in found.rows]
    st.dataframe(pd.DataFrame(columns), hide_index=True, key="two models rows")


def _number(value: float | None, places: int) -> str:
    return "–" if value is None else f"{value:.{places}f}".replace("-", "−")


def _answer(answer: Answer | None) -> str:
    return "–" if answer is None else shown(answer.text)
