"""Work that takes a while: progress, a Stop button, and what was stopped stays stopped until asked for."""

import time
from collections.abc import Callable, Hashable
from typing import TypeVar

import streamlit as st

T = TypeVar("T")
_STOPPED = "stopped"
_PATIENCE = 0.4  # seconds before a bar is shown: most reruns are answered from a cache sooner


def run(what: str, key: Hashable, work: Callable[[Callable[[float], None]], T]) -> T | None:
    """Do `work(report)` with progress drawn here; None where the user stopped this very work.

    Whatever the user does meanwhile starts a new run of the page, and the next `report` ends this one.
    """
    place = st.empty()
    identity = (what, key)
    if identity in st.session_state.get(_STOPPED, ()):
        with place.container(horizontal=True, vertical_alignment="center"):
            st.text(f"Stopped: {what}.")
            st.button(
                "Continue", key=f"continue {what}", on_click=_forget, args=(identity,), icon=":material/play_arrow:"
            )
        return None
    started = time.monotonic()
    bar = None

    def report(fraction: float) -> None:
        nonlocal bar
        if bar is None:
            if time.monotonic() - started < _PATIENCE:
                return
            with place.container(horizontal=True, vertical_alignment="center"):
                bar = st.progress(0.0, text=what.capitalize())
                st.button("Stop", key=f"stop {what}", on_click=_stop, args=(identity,), icon=":material/stop:")
        left = ""
        if 0.05 < fraction < 1 and (spent := time.monotonic() - started) > 3:
            left = f", about {spent / fraction - spent:.0f} s left"
        bar.progress(min(max(fraction, 0.0), 1.0), text=f"{what.capitalize()}{left}")

    result = work(report)
    place.empty()
    return result


def _stop(identity: Hashable) -> None:
    st.session_state.setdefault(_STOPPED, set()).add(identity)


def _forget(identity: Hashable) -> None:
    st.session_state.get(_STOPPED, set()).discard(identity)
