"""What is compared: the target, and with it the foil, the candidates and the expected answer."""

import streamlit as st

from analysis.continuation import continuation_cells
from analysis.encoding import EncodingError, encode, encode_target
from analysis.limits import MAX_RESPONSE_TOKENS
from analysis.tokens import shown
from pages.shared import draft, fields, models


def draw(loaded: models.Loaded) -> None:
    prompt_set = draft.current().prompt_set
    typed = prompt_set.target if isinstance(prompt_set.target, str) else ""
    fields.line(
        "Target",
        "target",
        typed,
        lambda text: draft.change(target=text or None),
        placeholder=fields.picked(prompt_set.target) or "the model's own top next token",
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


def pick(loaded: models.Loaded, index: int) -> None:
    """Make one next token the target: as text where the text gives this very token, else by its id."""
    encoder = loaded.lm.encoder
    text = encoder.piece(index)
    alone = tuple(encoder.full.encode(text, add_special_tokens=False).ids)
    plain = alone == (index,) and not encoder.is_control(index)
    draft.change(target=text if plain else (index,))
    draft.renew()


def more() -> None:
    prompt_set = draft.current().prompt_set
    opened = st.popover("Foil, candidates, options", key="more", icon=":material/tune:", on_change="rerun")
    if not opened.open:
        return
    with opened:
        fields.line("Name of the set", "name", prompt_set.name, lambda text: draft.change(name=text))
        foil = prompt_set.foil if isinstance(prompt_set.foil, str) else ""
        fields.line(
            "Foil",
            "foil",
            foil,
            lambda text: draft.change(foil=text or None),
            placeholder=fields.picked(prompt_set.foil),
            help="Attribution then explains why the target rather than the foil.",
        )
        fields.texts(
            "Candidate answers, one a line",
            "candidates",
            prompt_set.candidates,
            lambda texts: draft.change(candidates=texts),
            help="Scored together. Leading blanks count.",
        )
        fields.line(
            "Expected answer",
            "expected",
            prompt_set.expected or "",
            lambda text: draft.change(expected=text or None),
        )
        fields.field(
            st.number_input, "Tokens of an answer", "response tokens", prompt_set.response_tokens,
            lambda count: draft.change(response_tokens=int(count)), min_value=1, max_value=MAX_RESPONSE_TOKENS,
        )  # fmt: skip
        fields.field(
            st.checkbox, "The tokenizer adds its special tokens (BOS)", "special tokens", prompt_set.special_tokens,
            lambda on: draft.change(special_tokens=on), help="Completion mode only.",
        )  # fmt: skip
        fields.field(
            st.selectbox, "Text that spells a control token", "control tokens", prompt_set.control_tokens,
            lambda on: draft.change(control_tokens=on), options=(None, True, False),
            format_func={None: "by mode: token in completion, text in chat", True: "is that token", False: "is plain text"}.get,
        )  # fmt: skip
