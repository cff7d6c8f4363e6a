"""The prompt set under edit: one plain session value, shared by all pages, and every way to change it.

Widgets are seeded from it and write back through these functions. `epoch` is part of every widget's
key: whenever the set changes other than by typing, it grows, and the widgets start anew.
"""

from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from analysis.examples import EXAMPLES
from analysis.limits import MAX_VARIANTS
from analysis.links import from_link, to_link_fragment
from analysis.prompts import PromptSet, Variant
from analysis.validation import PromptSetError

LINK_PARAMETER = "set"
SELECTED = "selected row"  # the key of the row that the user looks at
REFERENCE = -1  # its key; variants have 0, 1, 2, …
_KEY = "draft"
_SAID = "said"
_UNDO_STEPS = 30


@dataclass(frozen=True)
class Draft:
    """The set, a lasting key for each of its variants, and what it was before the last big changes."""

    prompt_set: PromptSet
    keys: tuple[int, ...]
    epoch: int = 0
    next_key: int = 0
    history: tuple["Draft", ...] = ()  # each without its own history
    changed: bool = False  # since the page opened: only then does the link follow


def current() -> Draft:
    """This session's draft; a new session starts with the link's set, or the first example."""
    if _KEY not in st.session_state:
        st.session_state[_KEY] = _opened()
    return st.session_state[_KEY]


def _opened() -> Draft:
    fragment = st.query_params.get(LINK_PARAMETER)
    if fragment:
        try:
            return replace(_fresh(from_link(fragment)), changed=True)
        except PromptSetError as error:
            say(str(error))
    return _fresh(EXAMPLES[0].prompt_set)


def _fresh(prompt_set: PromptSet) -> Draft:
    count = len(prompt_set.variants)
    return Draft(prompt_set, tuple(range(count)), next_key=count)


def say(sentence: str) -> None:
    """Keep one sentence about the last action for the sidebar to show, until the set changes."""
    st.session_state[_SAID] = sentence


def said() -> str | None:
    return st.session_state.get(_SAID)


def hush() -> None:
    st.session_state.pop(_SAID, None)


def key_of(index: int) -> int:
    """The lasting key of row `index` (as in `Row.index`)."""
    return current().keys[index - 1] if index else REFERENCE


def index_of(key: int | None) -> int | None:
    """The row with this key; None where it is gone."""
    if key == REFERENCE:
        return 0
    keys = current().keys
    return keys.index(key) + 1 if key in keys else None


def change(**fields: Any) -> None:
    """Set fields of the prompt set, as typed."""
    draft = current()
    _keep(replace(draft, prompt_set=replace(draft.prompt_set, **fields), changed=True))


def renew() -> None:
    """Have the widgets start anew from the set: after a change that was not typed into them."""
    _keep(replace(current(), epoch=current().epoch + 1))


def change_variant(key: int, **fields: Any) -> None:
    draft = current()
    if key in draft.keys:
        place = draft.keys.index(key)
        variants = list(draft.prompt_set.variants)
        variants[place] = replace(variants[place], **fields)
        change(variants=tuple(variants))


def add(variants: tuple[Variant, ...], after: int | None = None) -> None:
    """Insert variants after the one with key `after`, or at the end."""
    draft = current()
    room = MAX_VARIANTS - len(draft.keys)
    given, variants = variants, variants[: max(room, 0)]
    place = draft.keys.index(after) + 1 if after in draft.keys else len(draft.keys)
    old = draft.prompt_set.variants
    keys = range(draft.next_key, draft.next_key + len(variants))
    _keep(
        replace(
            draft,
            prompt_set=replace(draft.prompt_set, variants=(*old[:place], *variants, *old[place:])),
            keys=(*draft.keys[:place], *keys, *draft.keys[place:]),
            next_key=draft.next_key + len(variants),
            changed=True,
        )
    )
    if len(given) > len(variants):
        say(f"{len(given)} rewordings were given; a set holds at most {MAX_VARIANTS}, so {len(variants)} were added")


def duplicate(key: int) -> None:
    draft = current()
    original = draft.prompt_set.variants[draft.keys.index(key)]
    add((replace(original, label=""),), after=key)


def remove(key: int) -> None:
    draft = current()
    place = draft.keys.index(key)
    variants = draft.prompt_set.variants
    _keep(
        replace(
            draft,
            prompt_set=replace(draft.prompt_set, variants=variants[:place] + variants[place + 1 :]),
            keys=draft.keys[:place] + draft.keys[place + 1 :],
            history=_remembered(draft),
            changed=True,
        )
    )


def make_reference(index: int) -> None:
    """Row `index` (as in `Row.index`) becomes the reference."""
    load(current().prompt_set.with_reference(index), same_keys=True)


def load(prompt_set: PromptSet, same_keys: bool = False) -> None:
    """Replace the whole set; the one before can be had back with `undo`."""
    draft = current()
    keys = draft.keys if same_keys else tuple(range(len(prompt_set.variants)))
    _keep(
        Draft(
            prompt_set,
            keys,
            epoch=draft.epoch + 1,
            next_key=max(draft.next_key, len(keys)),
            history=_remembered(draft),
            changed=True,
        )
    )
    st.session_state.pop(SELECTED, None)


def undo() -> None:
    """Back to the set before the last removal or replacement."""
    draft = current()
    if draft.history:
        back = draft.history[-1]
        _keep(replace(back, epoch=draft.epoch + 1, next_key=draft.next_key, history=draft.history[:-1], changed=True))


def share() -> str:
    """The address parameter that reproduces the set; raises LinkTooLong (a PromptSetError)."""
    return to_link_fragment(current().prompt_set)


def follow_in_address() -> None:
    """Keep the set in the page's address, so that a reload or a bookmark loses nothing."""
    if not current().changed:
        return
    try:
        fragment = share()
    except PromptSetError:
        st.query_params.pop(LINK_PARAMETER, None)
        return
    if st.query_params.get(LINK_PARAMETER) != fragment:
        st.query_params[LINK_PARAMETER] = fragment


def _remembered(draft: Draft) -> tuple[Draft, ...]:
    return (*draft.history, replace(draft, history=()))[-_UNDO_STEPS:]


def _keep(draft: Draft) -> None:
    hush()
    st.session_state[_KEY] = draft
