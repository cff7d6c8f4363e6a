"""Choosing other prompt sets to look at beside the current one: built-in ones, and saved files."""

import streamlit as st

from analysis.examples import EXAMPLES
from analysis.open_file import load_any
from analysis.prompts import PromptSet
from analysis.text import shortened
from analysis.tokens import shown
from analysis.validation import PromptSetError


def choose(name: str, label: str, current: PromptSet, placeholder: str) -> list[tuple[str, PromptSet]]:
    """The chosen sets with their names. `name` begins the keys of the fields ("contrast sets", "contrast file")."""
    examples = {example.key: example for example in EXAMPLES}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        keys = st.multiselect(
            label,
            [key for key, example in examples.items() if example.prompt_set.reference != current.reference],
            format_func=lambda key: examples[key].title,
            key=f"{name} sets",
            placeholder=placeholder,
            persist_state="session",
        )
        st.file_uploader("or a saved set", key=f"{name} file", on_change=_open, args=(name,), max_upload_size=2)
    opened = _opened(name)
    for file_name in opened:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.text(shown(shortened(file_name, 60)))
            st.button(
                "Leave out", key=f"leave out {file_name}", on_click=opened.pop, args=(file_name, None), type="tertiary"
            )
    if (fault := st.session_state.pop(f"{name} fault", None)) is not None:
        st.text(fault)
    return [*((examples[key].title, examples[key].prompt_set) for key in keys), *opened.items()]


def _opened(name: str) -> dict[str, PromptSet]:
    return st.session_state.setdefault(f"{name} opened", {})


def _open(name: str) -> None:
    upload = st.session_state.get(f"{name} file")
    if upload is None:
        return
    try:
        loaded = load_any(upload.getvalue(), upload.name)
    except PromptSetError as error:
        st.session_state[f"{name} fault"] = str(error)
        return
    _opened(name)[upload.name] = loaded.prompt_set
