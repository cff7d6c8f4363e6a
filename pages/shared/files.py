"""Where a set comes from and where it goes: examples, files, pasted lists, links."""

import streamlit as st

from analysis.examples import EXAMPLES
from analysis.limits import MAX_UPLOAD_BYTES
from analysis.open_file import load_any
from analysis.prompt_files import dump_json
from analysis.prompt_tables import Loaded, NoTextColumn, load_table, pasted_variants
from analysis.prompts import PromptSet, Variant
from analysis.validation import PromptSetError
from pages.shared import draft


def draw() -> None:
    with st.container(horizontal=True, gap="xsmall"):
        examples = st.popover("Examples", icon=":material/menu_book:", key="examples", on_change="rerun")
        opening = st.popover("Open", icon=":material/folder_open:", key="open", on_change="rerun")
        sharing = st.popover("Share", icon=":material/share:", key="share", on_change="rerun")
        if draft.current().history:
            st.button("Undo", icon=":material/undo:", on_click=draft.undo, key="undo")
    if examples.open:
        with examples:
            for example in EXAMPLES:
                st.button(example.title, key=f"example {example.key}", on_click=draft.load, args=(example.prompt_set,))
                st.caption(example.shows)
    if opening.open:
        with opening:
            _open()
    if sharing.open:
        with sharing:
            _share()


def _open() -> None:
    st.text(
        "A prompt set or result (JSON), a table (CSV, TSV), or a list of texts, one a line. The first text is the reference."
    )
    st.button("New, empty set", key="new", icon=":material/note_add:", on_click=_new)
    st.file_uploader("File", key="upload", on_change=_read_upload, max_upload_size=MAX_UPLOAD_BYTES // 2**20)
    if "upload columns" in st.session_state:
        name, data, columns = st.session_state["upload columns"]
        st.text("Which column holds the texts?")
        column = st.selectbox("Column", columns, key="upload column")
        st.button("Open this column", on_click=_read_column, args=(name, data, column), key="open column")
    st.text_area("Or paste a list", key="pasted", placeholder="One rewording a line", height=120)
    st.button("Add as rewordings", on_click=_add_pasted, key="add pasted")


def _new() -> None:
    """Nothing but the fields to type into; what was there comes back with Undo."""
    now = draft.current().prompt_set
    draft.load(PromptSet("", model=now.model, mode=now.mode))
    st.session_state["open"] = False


def _opened(loaded: Loaded) -> None:
    """Take what a file held, close the popover over it, and say what was noticed."""
    draft.load(loaded.prompt_set)
    st.session_state["open"] = False
    if loaded.notes:
        draft.say("\n".join(loaded.notes))


def _read_upload() -> None:
    upload = st.session_state.get("upload")
    st.session_state.pop("upload columns", None)
    draft.hush()
    if upload is None:
        return
    try:
        loaded = load_any(upload.getvalue(), upload.name)
    except NoTextColumn as error:
        st.session_state["upload columns"] = (upload.name, upload.getvalue(), error.columns)
        draft.say(str(error))
        return
    except PromptSetError as error:
        draft.say(str(error))
        return
    _opened(loaded)


def _read_column(name: str, data: bytes, column: str) -> None:
    try:
        loaded = load_table(data, name, text_column=column)
    except PromptSetError as error:
        draft.say(str(error))
        return
    st.session_state.pop("upload columns", None)
    _opened(loaded)


def _add_pasted() -> None:
    texts = pasted_variants(st.session_state.get("pasted", ""))
    if not texts:
        draft.say("the list is empty: paste one rewording a line")
        return
    draft.add(tuple(Variant(text) for text in texts))
    st.session_state["pasted"] = ""


def _share() -> None:
    prompt_set = draft.current().prompt_set
    try:
        link = f"{(st.context.url or '').split('?')[0]}?{draft.LINK_PARAMETER}={draft.share()}"
        st.text("This link opens the same set in a new session:")
        st.code(link, language=None, wrap_lines=True)
    except PromptSetError as error:
        st.text(str(error))
    try:
        document = dump_json(prompt_set)
    except PromptSetError as error:
        st.text(str(error))
        return
    name = "".join(c if c.isalnum() or c in "-_" else "-" for c in prompt_set.name)[:60] or "prompt-set"
    st.download_button(
        "Save as file",
        document,
        file_name=f"{name}.json",
        mime="application/json",
        icon=":material/download:",
        on_click="ignore",
        key="save",
    )
