"""Widgets of the editor that start from the draft and write back into it."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from analysis.prompts import Continuation
from analysis.tokens import shown
from pages.shared import draft

TEXT_HEIGHT = 68  # pixels, of a text area of two lines


def key(name: str) -> str:
    return f"{name}/{draft.current().epoch}"


def field(
    widget: Callable[..., Any], label: str, name: str, value: Any, apply: Callable[[Any], None], **options: Any
) -> Any:
    """A widget that starts from the draft and writes back into it when the user changes it.

    The start is given in every run: after a change of the page the widget is another one, with the same key.
    """
    own_key = key(name)
    if widget is st.selectbox:
        start = {"index": options["options"].index(value)}
    else:
        start = {"default" if widget is st.segmented_control else "value": value}
    return widget(label, key=own_key, on_change=lambda: apply(st.session_state[own_key]), **start, **options)


def line(label: str, name: str, value: str, apply: Callable[[str], None], **options: Any) -> None:
    """A field for a short text; of more lines where the text has them, because a browser's line drops line breaks."""
    if "\n" in value or "\r" in value:
        field(st.text_area, label, f"{name} in lines", value, apply, height=TEXT_HEIGHT, **options)
    else:
        field(st.text_input, label, name, value, apply, **options)


def texts(
    label: str,
    name: str,
    candidates: tuple[str, ...] | None,
    apply: Callable[[tuple[str, ...] | None], None],
    **options: Any,
) -> None:
    """Answers, one a line; those that hold line breaks themselves can only be looked at."""
    if any("\n" in candidate for candidate in candidates or ()):
        st.text("These candidates hold line breaks, and are edited in a file:")
        st.text("\n".join(shown(candidate) for candidate in candidates or ()))
        return

    def split(text: str) -> None:
        apply(tuple(line for line in text.split("\n") if line != "") or None)

    field(st.text_area, label, name, "\n".join(candidates or ()), split, height=TEXT_HEIGHT + 40, **options)


def picked(continuation: Continuation | None) -> str | None:
    """What a field says of a continuation that is given by its tokens."""
    return f"picked: token {', '.join(map(str, continuation))}" if isinstance(continuation, tuple) else None
