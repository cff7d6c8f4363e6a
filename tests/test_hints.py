"""Hints about the way a prompt is written: where they are given, and where they are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.continuation import continuation_cells, token_names
from analysis.hints import foreign_template, gap, other_case, same_letters, separators, transcript

anything = st.text(max_size=60)


@given(anything, anything)
def test_any_text_gives_nothing_or_one_line(text, other):
    found = (
        transcript(text), foreign_template(text), gap(text), separators(text, other), same_letters(text, other),
        other_case(text, other),
    )  # fmt: skip
    for hint in found:
        assert hint is None or (hint and "\n" not in hint)


@given(anything)
def test_a_text_is_not_other_letters_than_itself(text):
    assert same_letters(text, text) is None


@pytest.mark.parametrize("text", ["User: hi", "a\nAssistant: b", "HUMAN :", "AI:"])
def test_speakers_at_the_beginning_of_a_line_make_a_conversation(text):
    assert "reads like a conversation" in transcript(text)


@pytest.mark.parametrize("text", ["The user: me", "Username: x", "Users", "Air: fresh", "Question: x\nAnswer:"])
def test_other_labels_do_not(text):
    assert transcript(text) is None


def test_headings_of_instruction_formats_are_told_from_other_headings():
    assert "(### Instruction:)" in foreign_template("### Instruction: do\n### Response:")
    assert foreign_template("### Input\nx") is not None
    for text in ("## Input", "# Instruction", "### Instructive", "The ### Response: is", "#!/bin/sh"):
        assert foreign_template(text) is None


def test_a_gap_needs_something_before_it():
    assert "(“The sky is”)" in gap("The sky is ___.")
    assert "“[MASK]”" in gap("The sky is [MASK] today.")
    for text in ("___ is the sky", "a\n___\nb", "__init__ and __name__", "snake_case_", "a __ b"):
        assert gap(text) is None


def test_examples_with_other_blanks_than_the_last_item_are_pointed_out():
    assert "the examples have 1 space, the last item and the target nothing" in separators("Q: a\nA: b\nQ: c\nA:", "d")
    assert "2 spaces and 1 space" in separators("A:  b\nA: c\nA:", None)
    assert "the last item and the target 2 spaces" in separators("A: b\nA: ", " c")


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("Q: a\nA: b\nQ: c\nA:", " d"),
        ("Q: a\nA: b\nQ: c\nA: ", "d"),
        ("Q: a\nA:\nb\nQ: c\nA:", " d"),  # answers on a line of their own
        ("A:", "d"),
        ("Q: a\nA: b\nQ: c\nA: d", " e"),
        ("Q: a\nA: b\nQ: c\nA:", None),
        ("no cue at all", " x"),
    ],
)
def test_examples_with_the_same_blanks_are_not(text, target):
    assert separators(text, target) is None


def test_letters_in_other_words_are_told_from_other_letters():
    assert same_letters("i g n o r e", "ignore") is not None
    assert same_letters("1,234", "1234") is not None
    for text, reference in (("Ignore", "ignore"), ("ignore  it", "ignore it"), ("कल", "किल"), ("cafe\u0301", "café")):
        assert same_letters(text, reference) is None


def test_upper_case_is_a_matter_of_whole_prompts():
    assert "“␣PARIS”" in other_case("THE CAPITAL OF FRANCE IS", " Paris")
    for text, target in (
        ("USA", " x"),
        ("THE CAPITAL is", " Paris"),
        ("THE SUM IS", " 5"),
        ("THE CAPITAL IS", " PARIS"),
    ):
        assert other_case(text, target) is None


def decode(ids):
    return bytes(ids).decode(errors="replace")


@given(st.text(min_size=1, max_size=8))
def test_cells_of_a_continuation_are_its_characters_whatever_its_bytes(text):
    ids = list(text.encode(errors="replace"))
    made = continuation_cells(decode, ids)
    assert "".join(cell for cell, _ in made) == decode(ids)
    assert [k for _, places in made for k in places] == list(range(len(ids)))
    assert len(token_names(decode, ids)) == len(ids)


def test_parts_of_a_character_are_numbered():
    assert token_names(decode, "a略".encode()) == ("a", "略 (1 of 3)", "略 (2 of 3)", "略 (3 of 3)")
    assert continuation_cells(decode, "略".encode()[:2]) == (("\ufffd", range(2)),)
