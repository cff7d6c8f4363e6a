"""The prompt-set editor: the sidebar of every page."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from analysis.limits import MAX_VARIANTS
from analysis.prompts import INHERIT, KINDS, MODES, ROLES, Message, Variant
from analysis.tokens import shown
from analysis.validation import problems
from pages.shared import draft, fields, files, models, target

VERDICTS = {None: "as its kind says", True: "same meaning", False: "another meaning"}


def draw(loaded: models.Loaded) -> None:
    """Draw the editor into the sidebar; every change is in the draft before the page computes."""
    now = draft.current()
    with st.sidebar:
        models.draw(loaded)
        if now.prompt_set.model not in (models.source(), "default", loaded.lm.card.name):
            models.offer(now.prompt_set.model)
        files.draw()
        if (sentence := draft.said()) is not None:
            with st.container(border=True, key="said"):
                st.text(sentence)
                st.button("Close", key="hush", type="tertiary", icon=":material/close:", on_click=draft.hush)
        _reference(loaded)
        _variants()
        target.draw(loaded)
        target.more()


def _reference(loaded: models.Loaded) -> None:
    prompt_set = draft.current().prompt_set
    fields.field(
        st.segmented_control, "Mode", "mode", prompt_set.mode, lambda mode: draft.change(mode=mode),
        options=MODES, required=True, label_visibility="collapsed", format_func=str.capitalize,
    )  # fmt: skip
    if prompt_set.mode == "chat":
        if not loaded.lm.card.has_chat_template:
            st.text(f"{loaded.lm.card.name} has no chat template: use completion mode.")
        _system(prompt_set.system, "system", lambda system: draft.change(system=system))
        _turns()
    fields.field(
        st.text_area, "Reference prompt", "reference", prompt_set.reference,
        lambda text: draft.change(reference=text), height="content",
    )  # fmt: skip
    if prompt_set.mode == "chat":
        fields.field(
            st.text_area, "Beginning of the answer (prefill)", "prefill", prompt_set.prefill,
            lambda text: draft.change(prefill=text), height=fields.TEXT_HEIGHT,
        )  # fmt: skip


def _system(value: Any, name: str, apply: Callable[[Any], None]) -> None:
    own = fields.field(
        st.checkbox, "Own system prompt", f"{name} on", value is not None,
        lambda on: apply("" if on else None),
        help="Off: the chat template's default, which the token strip shows.",
    )  # fmt: skip
    if own:
        fields.field(st.text_area, "System prompt", name, value or "", apply, height=fields.TEXT_HEIGHT)


def _turns() -> None:
    turns = draft.current().prompt_set.turns

    def replaced(place: int, turn: Message | None) -> None:
        now = draft.current().prompt_set.turns
        draft.change(turns=tuple(t for i, t in enumerate((*now[:place], turn, *now[place + 1 :])) if t is not None))

    for place, turn in enumerate(turns):
        with st.container(border=True):
            fields.field(
                st.selectbox, f"Turn {place + 1}", f"turn role {place} of {len(turns)}", turn.role,
                lambda role, p=place: replaced(p, Message(role, draft.current().prompt_set.turns[p].content)),
                options=ROLES if turn.role in ROLES else (turn.role, *ROLES),
            )  # fmt: skip
            fields.field(
                st.text_area, f"Text of turn {place + 1}", f"turn text {place} of {len(turns)}", turn.content,
                lambda text, p=place: replaced(p, Message(draft.current().prompt_set.turns[p].role, text)),
                height=fields.TEXT_HEIGHT, label_visibility="collapsed",
            )  # fmt: skip
            st.button(
                "Remove turn",
                key=fields.key(f"remove turn {place} of {len(turns)}"),
                on_click=replaced,
                args=(place, None),
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
    fields.field(
        st.text_area, f"Rewording {index}", f"text {key}", variant.text,
        lambda text: draft.change_variant(key, text=text), height="content", label_visibility="collapsed",
    )  # fmt: skip
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        fields.field(
            st.checkbox, f"Use rewording {index}", f"on {key}", variant.enabled,
            lambda on: draft.change_variant(key, enabled=on), label_visibility="collapsed",
        )  # fmt: skip
        st.text(f"{shown(draft.current().prompt_set.label(index))} · {shown(variant.kind)}", width="stretch")
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        more = st.popover("Details", key=fields.key(f"details {key}"), on_change="rerun", type="tertiary")
        st.button(
            "Duplicate", key=fields.key(f"duplicate {key}"), type="tertiary", on_click=draft.duplicate, args=(key,),
            help=f"Duplicate rewording {index}",
        )  # fmt: skip
        st.button(
            "Remove", key=fields.key(f"remove {key}"), type="tertiary", on_click=draft.remove, args=(key,),
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
        "Make this the reference", key=fields.key(f"make reference {key}"), on_click=draft.make_reference, args=(index,)
    )
    fields.line("Label", f"label {key}", variant.label, set_to("label", ""))
    kinds = KINDS if variant.kind in KINDS else (variant.kind, *KINDS)
    fields.field(
        st.selectbox, "Kind", f"kind {key}", variant.kind, set_to("kind"), options=kinds,
        help="Controls change the meaning on purpose and stay out of the summary.",
    )  # fmt: skip
    fields.field(
        st.selectbox, "Meaning", f"meaning {key}", variant.same_meaning, set_to("same_meaning"),
        options=(None, True, False), format_func=VERDICTS.__getitem__,
        help="Your own verdict wins over the kind and over every check; it is saved with the set.",
    )  # fmt: skip
    fields.field(
        st.selectbox, "Mode", f"mode {key}", variant.mode, set_to("mode"), options=(None, *MODES),
        format_func=lambda mode: mode or "as in the set",
    )  # fmt: skip
    own = fields.field(
        st.checkbox, "Other system prompt than the set's", f"own system {key}", variant.system is not INHERIT,
        lambda on: draft.change_variant(key, system=None if on else INHERIT),
    )  # fmt: skip
    if own:
        _system(
            None if variant.system is INHERIT else variant.system, f"system {key}",
            lambda system: draft.change_variant(key, system=system),
        )  # fmt: skip
    fields.line(
        "Prefill",
        f"prefill {key}",
        variant.prefill or "",
        set_to("prefill"),
        placeholder="as in the set",
    )
    typed = variant.target if isinstance(variant.target, str) else ""
    fields.line(
        "Target",
        f"target {key}",
        typed,
        set_to("target"),
        placeholder=fields.picked(variant.target) or "as in the set",
    )
    fields.line(
        "Expected answer",
        f"expected {key}",
        variant.expected or "",
        set_to("expected"),
        placeholder="as in the set",
    )
    fields.texts(
        "Candidates, one a line",
        f"candidates {key}",
        variant.candidates,
        lambda texts: draft.change_variant(key, candidates=texts),
        placeholder="as in the set",
    )
