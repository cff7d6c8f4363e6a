"""What a page asks for: the sidebar, the analysed set, and the ways to show a result.

Every page runs on its own (a deep link may run it before `app.py` has), so each starts with `open_page`.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import streamlit as st

from analysis import explore
from analysis.prompts import PromptSet
from analysis.results import Analysis, Answer, CandidateScores, PromptResult
from analysis.tokens import shown
from pages.shared import display, draft, editor, models, running

T = TypeVar("T")
Report = Callable[[float], None]

SELECTED = draft.SELECTED
_CLICKED = "clicked in a chart"
ICON = Path(__file__).with_name("icon.svg")


@dataclass(frozen=True, eq=False)
class Page:
    """A page's model and prompt set, with the analyses that it can ask for."""

    loaded: models.Loaded
    prompt_set: PromptSet

    def analysis(self) -> Analysis:
        """The set, analysed; the page ends here where the user stopped the run."""
        made = running.run(
            "analysing the prompts",
            (self.loaded.lm.key, self.prompt_set),
            lambda report: explore.analyse(self.loaded.lm, self.prompt_set, self.loaded.caches, report=report),
        )
        if made is None:
            st.stop()
            raise AssertionError  # st.stop() never returns
        return made

    def known_answers(self, analysis: Analysis) -> tuple[Answer | None, ...] | None:
        """The answers if all of them are there already."""
        return explore.known_answers(self.loaded.lm, analysis, self.loaded.caches)

    def complete(self, analysis: Analysis) -> None:
        """Generate the answers, then run the page again with them."""
        made = running.run(
            "writing the answers",
            (self.loaded.lm.key, self.prompt_set, "answers"),
            lambda report: explore.answers_of(self.loaded.lm, analysis, self.loaded.caches, report),
        )
        if made is not None:
            st.rerun()

    def candidates(self, analysis: Analysis) -> tuple[CandidateScores | None, ...] | None:
        """Scores of the declared candidates; None where there are none, or the run was stopped."""
        if not any(result.row.candidates for result in analysis.prompts):
            return None
        return running.run(
            "scoring the candidates",
            (self.loaded.lm.key, self.prompt_set, "candidates"),
            lambda report: explore.candidate_scores(self.loaded.lm, analysis, self.loaded.caches, report),
        )

    def kept(self, what: str, key: Hashable, work: Callable[[Callable[[float], None]], T]) -> T | None:
        """The result of `work` from the store of all sessions, or from running it; None where it was stopped."""
        store = self.loaded.caches.other
        known = store.get((what, key))
        if known is None:
            known = self.run(what, key, work)
            if known is not None:
                store.put((what, key), known)
        return cast("T | None", known)

    def asked(self, what: str, key: Hashable, label: str, button: str, free: bool = False) -> bool:
        """Whether work for `kept` may start: it is free, done already, or was asked for; else the button to ask is drawn."""
        if free or self.loaded.caches.other.get((what, key)) is not None:
            return True
        if st.session_state.get(f"asked: {what}") == key:
            return True
        st.button(label, key=button, icon=":material/play_arrow:", on_click=_ask, args=(what, key))
        return False

    def run(self, what: str, key: object, work: Callable[[Callable[[float], None]], object]) -> object:
        """Any other work on this model, with progress and Stop; None where it was stopped."""
        return running.run(what, (self.loaded.lm.key, self.prompt_set, key), work)


def _ask(what: str, key: Hashable) -> None:
    st.session_state[f"asked: {what}"] = key


def open_page(title: str) -> Page:
    """Set up the page, draw the sidebar, and return what the page works on."""
    st.set_page_config(page_title=f"{title} · Prompt Sensitivity Lab", layout="wide", page_icon=ICON)
    st.session_state.pop(_CLICKED, None)
    display.styles()
    display.warm_up()
    loaded = models.current()
    editor.draw(loaded)
    draft.follow_in_address()
    return Page(loaded, draft.current().prompt_set)


def selected(analysis: Analysis) -> int:
    """The row that the user looks at (`Row.index`), the same on all pages; by default the largest |Δ|."""
    chosen = draft.index_of(st.session_state.get(SELECTED))
    usable = [result for result in analysis.prompts if result.trace is not None]
    if chosen is not None and any(result.row.index == chosen for result in usable):
        return chosen
    compared = [result for result in usable[1:] if result.delta is not None and not result.row.own_target]
    return max(compared, key=lambda result: abs(result.delta or 0.0)).row.index if compared else 0


def select(index: int) -> None:
    st.session_state[SELECTED] = draft.key_of(index)


def select_from(key: str) -> Callable[[], None]:
    """A callback that selects the row whose point was clicked in the chart `key`."""

    def clicked() -> None:
        data = display.clicked_point(key)
        if data:
            select(int(data[0]))
            st.session_state[_CLICKED] = True

    return clicked


def follow_click() -> None:
    """The first line of every fragment with a chart: a click in it concerns the whole page, not the fragment alone."""
    if st.session_state.pop(_CLICKED, False):
        st.rerun()


def two_rows(analysis: Analysis, what: str) -> None:
    """The page ends here, with what there is to say, where there is nothing to compare; else it shows `what`."""
    others = [result for result in analysis.prompts[1:] if result.trace is not None]
    if analysis.reference.trace is not None and others:
        return
    if analysis.reference.trace is None:
        display.finding("The reference could not be analysed, so there is nothing to compare with.")
        display.notes(analysis.reference.notes)  # the others would say no more than that
        st.stop()
    if len(analysis.prompts) > 1:
        display.finding(f"None of the rewordings could be analysed; one that can shows {what}.")
    elif analysis.prompt_set.variants:
        display.finding(f"All rewordings are switched off; one that is on shows {what}.")
    else:
        display.finding(f"Add a paraphrase to see {what}.")
    for result in analysis.prompts:
        if result.trace is None:
            display.notes(result.notes)
    st.stop()


def pick_row(analysis: Analysis) -> PromptResult:
    """The row that a page is about; the page ends here where no row could be analysed."""
    usable = {result.row.index: result for result in analysis.prompts if result.trace is not None}
    if not usable:
        for result in analysis.prompts:
            display.notes(result.notes)
        st.stop()
    chosen = selected(analysis)
    row_box({index: result.label for index, result in usable.items()}, chosen)
    return usable[chosen]


def row_box(labels: dict[int, str], chosen: int, **options: Any) -> None:
    """A box to select one of the rows, given by index; it follows what is selected elsewhere."""
    indices = list(labels)
    key = f"wording {chosen}"
    st.selectbox(
        "Wording",
        indices,
        index=indices.index(chosen),
        format_func=lambda index: shown(labels[index]),
        key=key,
        on_change=lambda: select(st.session_state[key]),
        **options,
    )
