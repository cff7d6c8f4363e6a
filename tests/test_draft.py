"""The draft: every way to change the set under edit, and what can be had back."""

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from analysis.examples import EXAMPLES
from analysis.limits import MAX_VARIANTS
from analysis.links import to_link_fragment
from analysis.prompts import PromptSet, Variant
from pages.shared import draft

ABC = PromptSet("the reference", tuple(Variant(text) for text in "abc"))


@pytest.fixture(autouse=True)
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """What Streamlit keeps for one session, as plain dictionaries."""
    stand_in = SimpleNamespace(session_state={}, query_params={})
    monkeypatch.setattr(draft, "st", stand_in)
    return stand_in


def texts() -> str:
    return "".join(variant.text for variant in draft.current().prompt_set.variants)


def key_of(text: str) -> int:
    now = draft.current()
    return next(k for k, variant in zip(now.keys, now.prompt_set.variants, strict=True) if variant.text == text)


def test_a_new_session_opens_the_first_example():
    assert draft.current().prompt_set == EXAMPLES[0].prompt_set


def test_a_new_session_opens_the_set_of_its_link(session):
    session.query_params["set"] = to_link_fragment(ABC)
    assert draft.current().prompt_set == ABC


def test_a_broken_link_opens_the_first_example_and_says_so(session):
    session.query_params["set"] = to_link_fragment(ABC)[:-9]
    assert draft.current().prompt_set == EXAMPLES[0].prompt_set
    assert "the link" in (draft.said() or "")


def test_typing_keeps_every_character():
    text = "  two  blanks\t\u200b\x07 日本語 שלום \r\n"
    draft.load(ABC)
    draft.change(reference=text)
    draft.change_variant(key_of("b"), text=text, label=text)
    now = draft.current().prompt_set
    assert now.reference == text
    assert now.variants[1] == Variant(text, label=text)


def test_a_variant_keeps_its_key_when_its_neighbours_come_and_go():
    draft.load(ABC)
    key = key_of("c")
    draft.remove(key_of("a"))
    draft.add((Variant("d"),))
    draft.duplicate(key_of("b"))
    assert texts() == "bbcd"
    assert key_of("c") == key
    assert len(set(draft.current().keys)) == 4


def test_a_key_is_never_given_twice():
    draft.load(ABC)
    key = key_of("c")
    draft.remove(key)
    draft.add((Variant("d"),))
    assert key_of("d") != key


def test_an_edit_of_a_removed_variant_changes_nothing():
    draft.load(ABC)
    key = key_of("b")
    draft.remove(key)
    draft.change_variant(key, text="late")
    assert texts() == "ac"


def test_a_duplicate_stands_after_its_original_without_its_label():
    draft.load(PromptSet("r", (Variant("a", kind="typo", label="first"), Variant("b"))))
    draft.duplicate(key_of("a"))
    assert draft.current().prompt_set.variants[:2] == (Variant("a", kind="typo", label="first"), Variant("a", "typo"))


def test_undo_brings_back_what_was_removed_with_what_was_typed_before():
    draft.load(ABC)
    draft.change_variant(key_of("b"), text="B")
    draft.remove(key_of("a"))
    draft.undo()
    assert texts() == "aBc"


def test_undo_goes_back_step_by_step_to_the_start():
    start = draft.current().prompt_set
    draft.load(ABC)
    draft.remove(key_of("a"))
    draft.make_reference(1)
    for _ in range(3):
        draft.undo()
    assert draft.current().prompt_set == start
    draft.undo()  # nothing is left to undo
    assert draft.current().prompt_set == start


def test_widgets_start_anew_whenever_the_set_changes_other_than_by_typing():
    epochs = [draft.current().epoch]
    for change in (lambda: draft.load(ABC), lambda: draft.make_reference(2), draft.undo):
        change()
        epochs.append(draft.current().epoch)
    draft.change(reference="typed")
    assert epochs == sorted(set(epochs))
    assert draft.current().epoch == epochs[-1]


def test_making_a_row_the_reference_exchanges_it_with_the_old_one():
    draft.load(ABC)
    draft.make_reference(2)
    now = draft.current().prompt_set
    assert (now.reference, texts()) == ("b", "athe referencec")


def test_a_full_set_takes_what_fits_and_says_what_does_not():
    draft.load(PromptSet("r", (Variant("x"),) * (MAX_VARIANTS - 2)))
    draft.add(tuple(Variant(text) for text in "abc"))
    assert len(draft.current().keys) == MAX_VARIANTS
    assert texts().endswith("xab")
    assert str(MAX_VARIANTS) in (draft.said() or "")
    draft.duplicate(draft.current().keys[0])
    assert len(draft.current().keys) == MAX_VARIANTS


def test_the_address_follows_what_is_typed_and_nothing_else(session):
    draft.current()
    draft.follow_in_address()
    assert session.query_params == {}  # the address of the first example stays short
    draft.change(reference="typed")
    draft.follow_in_address()
    assert session.query_params == {"set": to_link_fragment(draft.current().prompt_set)}


def test_the_address_of_a_set_that_fits_no_link_is_bare(session):
    draft.load(ABC)
    draft.follow_in_address()
    long = "".join(chr(0x4E00 + (place * 7919) % 20000) for place in range(20_000))
    draft.change(reference=long)
    draft.follow_in_address()
    assert session.query_params == {}


def test_a_row_is_found_by_its_key_until_it_is_gone():
    draft.load(ABC)
    key = draft.key_of(2)
    assert (draft.index_of(key), draft.index_of(draft.key_of(0))) == (2, 0)
    draft.remove(key_of("a"))
    assert draft.index_of(key) == 1
    draft.remove(key)
    assert draft.index_of(key) is None
    draft.undo()
    assert draft.index_of(key) == 1
    assert draft.index_of(None) is None


def test_what_was_said_stays_until_the_set_changes():
    draft.load(ABC)
    draft.say("the file is damaged")
    assert draft.said() == draft.said() == "the file is damaged"
    draft.change(reference="typed")
    assert draft.said() is None
