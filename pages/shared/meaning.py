"""How alike the rewordings read to a sentence-embedding model; the page works without it, and says so."""

from collections.abc import Sequence
from threading import Lock

import streamlit as st

from analysis import default_model
from analysis.sentence_model import MINILM, SentenceModel, SentenceModelError
from pages.shared import display, running, session

_WANTED = "sentence model wanted"
_FAULT = "sentence model fault"
LOADING = "loading the sentence model"
WHAT = "comparing meanings"


class _Shared:
    """One sentence model for all sessions: whoever asks first loads it, the others wait."""

    def __init__(self) -> None:
        self.model: SentenceModel | None = None
        self.lock = Lock()

    def get(self, report: session.Report) -> SentenceModel:
        with self.lock:
            if self.model is None:
                self.model = SentenceModel.load(lambda fraction, stage: report(fraction))
            return self.model


@st.cache_resource(show_spinner=False)
def _shared() -> _Shared:
    return _Shared()


def _model() -> SentenceModel | None:
    """The model where it is loaded, on disk, or asked for; None where it is not, was stopped, or failed."""
    shared = _shared()
    if shared.model is not None:
        return shared.model
    if not (st.session_state.get(_WANTED) or default_model.cached(MINILM) is not None) or _FAULT in st.session_state:
        return None
    try:
        return running.run(LOADING, MINILM.key, shared.get)
    except SentenceModelError as error:
        st.session_state[_FAULT] = str(error)
        return None


def similarities(page: session.Page, reference: str, texts: Sequence[str]) -> dict[str, float]:
    """The cosine of each text with the reference; empty without a sentence model."""
    if not texts or (model := _model()) is None:
        return {}
    identity = (MINILM.sha256, reference, tuple(texts))
    found = page.kept(WHAT, identity, lambda report: model.similarity(reference, texts))
    return {} if found is None else {text: float(value) for text, value in zip(texts, found, strict=True)}


def offer(reference: str) -> None:
    """What to do where there is no similarity, and what to know where there is."""
    model = _shared().model
    if model is not None:
        if model.is_cut(reference):
            display.warning(f"similarity: only the first {model.max_tokens} tokens of each text are compared")
        return
    if (fault := st.session_state.get(_FAULT)) is not None:
        display.warning(f"Similarity is not available: {fault}.")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.text(f"Without {MINILM.name} the hard checks alone judge; with it, each rewording shows how alike it reads.")
        st.button(
            f"Fetch it ({MINILM.download_bytes / 1e6:.0f} MB)" if fault is None else "Try again",
            key="fetch sentence model",
            on_click=_want,
        )


def _want() -> None:
    st.session_state[_WANTED] = True
    st.session_state.pop(_FAULT, None)
