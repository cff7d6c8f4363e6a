"""The prompt-set editor: the sidebar of every page."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from analysis.continuation import continuation_cells
from analysis.encoding import EncodingError, encode, encode_target
from analysis.examples import EXAMPLES
from analysis.limits import MAX_RESPONSE_TOKENS, MAX_UPLOAD_BYTES, MAX_VARIANTS
from analysis.open_file import load_any
from analysis.prompt_files import dump_json
from analysis.prompt_tables import NoTextColumn, load_table, pasted_variants
from analysis.prompts import INHERIT, KINDS, MODES, ROLES, Continuation, Message, Variant
from analysis.tokens import shown
from analysis.validation import PromptSetError, problems
from pages.shared import draft, models

_TEXT_HEIGHT = 68


def draw(loaded: models.Loaded) -> None:
    """Draw the editor into the sidebar; every change is in the draft before the page computes."""
    now = draft.current()
    with st.sidebar:
        models.draw(loaded)
        if now.prompt_set.model not in (models.source(), "default", loaded.lm.card.name):
            models.offer(now.prompt_set.model)
        _files()
        if (sentence := draft.said()) is not None:
            with st.container(border=True, key="said"):
                st.text(sentence)
                st.button("Close", key="hush", type="tertiary", icon=":material/close:", on_click=draft.hush)
        _reference(loaded)
        _variants()
        _target(loaded)
        _more()


def _key(name: str) -> str:
    return f"{name}/{draft.current().epoch}"


def _field(
    widget: Callable[..., Any], label: str, name: str, value: Any, apply: Callable[[Any], None], **options: Any
) -> Any:
    """A widget that starts from the draft and writes back into it when the user changes it.

    The start is given in every run: after a change of the page the widget is another one, with the same key.
    """
    key = _key(name)
    if widget is st.selectbox:
        start = {"index": options["options"].index(value)}
    else:
        start = {"default" if widget is st.segmented_control else "value": value}
    return widget(label, key=key, on_change=lambda: apply(st.session_state[key]), **start, **options)


def _line(label: str, name: str, value: str, apply: Callable[[str], None], **options: Any) -> None:
    """A field for a short text; of more lines where the text has them, because a browser's line drops line breaks."""
    if "\n" in value or "\r" in value:
        _field(st.text_area, label, f"{name} in lines", value, apply, height=_TEXT_HEIGHT, **options)
    else:
        _field(st.text_input, label, name, value, apply, **options)


# --- files, examples, links


def _files() -> None:
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
    st.file_uploader("File", key="upload", on_change=_read_upload, max_upload_size=MAX_UPLOAD_BYTES // 2**20)
    if "upload columns" in st.session_state:
        name, data, columns = st.session_state["upload columns"]
        st.text("Which column holds the texts?")
        column = st.selectbox("Column", columns, key="upload column")
        st.button("Open this column", on_click=_read_column, args=(name, data, column), key="open column")
    st.text_area("Or paste a list", key="pasted", placeholder="One rewording a line", height=120)
    st.button("Add as rewordings", on_click=_add_pasted, key="add pasted")


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
    draft.load(loaded.prompt_set)
    if loaded.notes:
        draft.say("\n".join(loaded.notes))


def _read_column(name: str, data: bytes, column: str) -> None:
    try:
        loaded = load_table(data, name, text_column=column)
    except PromptSetError as error:
        draft.say(str(error))
        return
    st.session_state.pop("upload columns", None)
    draft.load(loaded.prompt_set)
    if loaded.notes:
        draft.say("\n".join(loaded.notes))


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


# --- reference and variants


def _reference(loaded: models.Loaded) -> None:
    prompt_set = draft.current().prompt_set
    _field(
        st.segmented_control, "Mode", "mode", prompt_set.mode, lambda mode: draft.change(mode=mode),
        options=MODES, required=True, label_visibility="collapsed", format_func=str.capitalize,
    )  # fmt: skip
    if prompt_set.mode == "chat":
        if not loaded.lm.card.has_chat_template:
            st.text(f"{loaded.lm.card.name} has no chat template: use completion mode.")
        _system(prompt_set.system, "system", lambda system: draft.change(system=system))
        _turns()
    _field(
        st.text_area, "Reference prompt", "reference", prompt_set.reference,
        lambda text: draft.change(reference=text), height="content",
    )  # fmt: skip
    if prompt_set.mode == "chat":
        _field(
            st.text_area, "Beginning of the answer (prefill)", "prefill", prompt_set.prefill,
            lambda text: draft.change(prefill=text), height=_TEXT_HEIGHT,
        )  # fmt: skip


def _system(value: Any, name: str, apply: Callable[[Any], None]) -> None:
    own = _field(
        st.checkbox, "Own system prompt", f"{name} on", value is not None,
        lambda on: apply("" if on else None),
        help="Off: the chat template's default, which the token strip shows.",
    )  # fmt: skip
    if own:
        _field(st.text_area, "System prompt", name, value or "", apply, height=_TEXT_HEIGHT)


def _turns() -> None:
    turns = draft.current().prompt_set.turns

    def replaced(place: int, turn: Message | None) -> None:
        now = draft.current().prompt_set.turns
        draft.change(turns=tuple(t for i, t in enumerate((*now[:place], turn, *now[place + 1 :])) if t is not None))

    for place, turn in enumerate(turns):
        with st.container(border=True):
            _field(
                st.selectbox, f"Turn {place + 1}", f"turn role {place} of {len(turns)}", turn.role,
                lambda role, p=place: replaced(p, Message(role, draft.current().prompt_set.turns[p].content)),
                options=ROLES if turn.role in ROLES else (turn.role, *ROLES),
            )  # fmt: skip
            _field(
                st.text_area, f"Text of turn {place + 1}", f"turn text {place} of {len(turns)}", turn.content,
                lambda text, p=place: replaced(p, Message(draft.current().prompt_set.turns[p].role, text)),
                height=_TEXT_HEIGHT, label_visibility="collapsed",
            )  # fmt: skip
            st.button(
                "Remove turn", key=_key(f"remove turn {place} of {len(turns)}"), on_click=replaced, args=(place, None)
            )
    role = "assistant" if len(turns) % 2 else "user"
    st.button(
        "Add an earlier turn", key="add turn", icon=":material/add:", type="tertiary",
        on_click=lambda: draft.change(turns=(*draft.current().prompt_set.turns, Message(role, ""))),
    )  # fmt: skip


def _variants() -> None:
    now = draft.current()
    wrong = {problem.row: problem.sentence for problem in problems(now.prompt_set)}
    st.text(f"Rewordings ({len(now.keys)} of at most {MAX_VARIANTS})")
    for index, (key, variant) in enumerate(zip(now.keys, now.prompt_set.variants, strict=True), start=1):
        with st.container(border=True, gap="xsmall", key=f"variant {now.epoch} {key}"):
            _variant(index, key, variant)
            if (sentence := wrong.get(index)) is not None:
                st.text(sentence)
    st.button(
        "Add a rewording", key="add", icon=":material/add:", on_click=draft.add, args=((Variant(""),),),
        disabled=len(now.keys) >= MAX_VARIANTS,
    )  # fmt: skip


def _variant(index: int, key: int, variant: Variant) -> None:
    _field(
        st.text_area, f"Rewording {index}", f"text {key}", variant.text,
        lambda text: draft.change_variant(key, text=text), height="content", label_visibility="collapsed",
    )  # fmt: skip
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        _field(
            st.checkbox, f"Use rewording {index}", f"on {key}", variant.enabled,
            lambda on: draft.change_variant(key, enabled=on), label_visibility="collapsed",
        )  # fmt: skip
        st.text(f"{shown(draft.current().prompt_set.label(index))} · {shown(variant.kind)}", width="stretch")
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        more = st.popover("Details", key=_key(f"details {key}"), on_change="rerun", type="tertiary")
        st.button(
            "Duplicate", key=_key(f"duplicate {key}"), type="tertiary", on_click=draft.duplicate, args=(key,),
            help=f"Duplicate rewording {index}",
        )  # fmt: skip
        st.button(
            "Remove", key=_key(f"remove {key}"), type="tertiary", on_click=draft.remove, args=(key,),
            help=f"Remove rewording {index}",
        )  # fmt: skip
    if more.open:
        with more:
            _details(index, key, variant)


def _details(index: int, key: int, variant: Variant) -> None:
    """What a variant may override; an empty field means "as in the set"."""

    def set_to(field: str, empty: Any = None) -> Callable[[Any], None]:
        return lambda value: draft.change_variant(key, **{field: value if value != "" else empty})

    st.button(
        "Make this the reference", key=_key(f"make reference {key}"), on_click=draft.make_reference, args=(index,)
    )
    _line("Label", f"label {key}", variant.label, set_to("label", ""))
    kinds = KINDS if variant.kind in KINDS else (variant.kind, *KINDS)
    _field(
        st.selectbox, "Kind", f"kind {key}", variant.kind, set_to("kind"), options=kinds,
        help="Controls change the meaning on purpose and stay out of the summary.",
    )  # fmt: skip
    _field(
        st.selectbox, "Mode", f"mode {key}", variant.mode, set_to("mode"), options=(None, *MODES),
        format_func=lambda mode: mode or "as in the set",
    )  # fmt: skip
    own = _field(
        st.checkbox, "Other system prompt than the set's", f"own system {key}", variant.system is not INHERIT,
        lambda on: draft.change_variant(key, system=None if on else INHERIT),
    )  # fmt: skip
    if own:
        _system(
            None if variant.system is INHERIT else variant.system, f"system {key}",
            lambda system: draft.change_variant(key, system=system),
        )  # fmt: skip
    _line(
        "Prefill",
        f"prefill {key}",
        variant.prefill or "",
        set_to("prefill"),
        placeholder="as in the set",
    )
    target = variant.target if isinstance(variant.target, str) else ""
    _line(
        "Target",
        f"target {key}",
        target,
        set_to("target"),
        placeholder=_picked(variant.target) or "as in the set",
    )
    _line(
        "Expected answer",
        f"expected {key}",
        variant.expected or "",
        set_to("expected"),
        placeholder="as in the set",
    )
    _candidates(
        "Candidates, one a line",
        f"candidates {key}",
        variant.candidates,
        lambda texts: draft.change_variant(key, candidates=texts),
        placeholder="as in the set",
    )


# --- target and what else belongs to the set


def _target(loaded: models.Loaded) -> None:
    prompt_set = draft.current().prompt_set
    typed = prompt_set.target if isinstance(prompt_set.target, str) else ""
    _line(
        "Target",
        "target",
        typed,
        lambda text: draft.change(target=text or None),
        placeholder=_picked(prompt_set.target) or "the model's own top next token",
        help="The continuation whose log-prob is compared. Leading blanks count.",
    )
    st.text(_target_tokens(loaded))


def _target_tokens(loaded: models.Loaded) -> str:
    """The tokens that will be scored, before anything is run."""
    prompt_set = draft.current().prompt_set
    if prompt_set.target is None:
        return "Empty: the likeliest next token after the reference."
    encoder, reference = loaded.lm.encoder, prompt_set.rows()[0]
    try:
        target = encode_target(encoder, reference.prompt, encode(encoder, reference.prompt), prompt_set.target)
    except EncodingError as error:
        return str(error)
    pieces = " | ".join(shown(text) for text, _ in continuation_cells(encoder.decode, target.ids))
    return f"{len(target)} token{'s' if len(target) > 1 else ''}: {pieces}"


def pick_target(loaded: models.Loaded, index: int) -> None:
    """Make one next token the target: as text where the text gives this very token, else by its id."""
    encoder = loaded.lm.encoder
    text = encoder.piece(index)
    alone = tuple(encoder.full.encode(text, add_special_tokens=False).ids)
    plain = alone == (index,) and not encoder.is_control(index)
    draft.change(target=text if plain else (index,))
    draft.renew()


def _more() -> None:
    prompt_set = draft.current().prompt_set
    more = st.popover("Foil, candidates, options", key="more", icon=":material/tune:", on_change="rerun")
    if not more.open:
        return
    with more:
        _line("Name of the set", "name", prompt_set.name, lambda text: draft.change(name=text))
        foil = prompt_set.foil if isinstance(prompt_set.foil, str) else ""
        _line(
            "Foil",
            "foil",
            foil,
            lambda text: draft.change(foil=text or None),
            placeholder=_picked(prompt_set.foil),
            help="Attribution then explains why the target rather than the foil.",
        )
        _candidates(
            "Candidate answers, one a line",
            "candidates",
            prompt_set.candidates,
            lambda texts: draft.change(candidates=texts),
            help="Scored together. Leading blanks count.",
        )
        _line(
            "Expected answer",
            "expected",
            prompt_set.expected or "",
            lambda text: draft.change(expected=text or None),
        )
        _field(
            st.number_input, "Tokens of an answer", "response tokens", prompt_set.response_tokens,
            lambda count: draft.change(response_tokens=int(count)), min_value=1, max_value=MAX_RESPONSE_TOKENS,
        )  # fmt: skip
        _field(
            st.checkbox, "The tokenizer adds its special tokens (BOS)", "special tokens", prompt_set.special_tokens,
            lambda on: draft.change(special_tokens=on), help="Completion mode only.",
        )  # fmt: skip
        _field(
            st.selectbox, "Text that spells a control token", "control tokens", prompt_set.control_tokens,
            lambda on: draft.change(control_tokens=on), options=(None, True, False),
            format_func={None: "by mode: token in completion, text in chat", True: "is that token", False: "is plain text"}.get,
        )  # fmt: skip


def _candidates(
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

    _field(st.text_area, label, name, "\n".join(candidates or ()), split, height=_TEXT_HEIGHT + 40, **options)


def _picked(continuation: Continuation | None) -> str | None:
    """What a field says of a continuation that is given by its tokens."""
    return f"picked: token {', '.join(map(str, continuation))}" if isinstance(continuation, tuple) else None
