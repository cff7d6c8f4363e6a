"""What the eye misses is named with code point and place; nothing is changed."""

import math
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.text import (
    boundary_note,
    describe,
    grouped,
    invisible_characters,
    percent,
    shortened,
    unfilled_template,
    visible,
)

anything = st.text(st.characters(codec=None), max_size=40)
tricky = st.text(st.sampled_from("ab  \n\t\r\u00a0\u200b\u200d\ufe0f\u0430❤👩🦳1\u20e3’：\ud800{}%|"), max_size=20)


def found(text):
    return [(one.position, one.code_point, one.sort) for one in invisible_characters(text)]


@given(anything | tricky)
def test_what_is_found_is_where_it_is_said_to_be(text):
    for one in invisible_characters(text):
        assert text[one.position] == one.character
        assert one.code_point == f"U+{ord(one.character):04X}"
        assert one.name


@given(anything | tricky)
def test_no_blank_or_control_character_but_space_and_newline_is_missed(text):
    missed = set(range(len(text))) - {one.position for one in invisible_characters(text)}
    for position in missed:
        assert text[position] in " \n" or unicodedata.category(text[position]) not in ("Zs", "Zl", "Zp", "Cc", "Cs")


@given(anything | tricky)
def test_what_is_shown_is_one_line_without_characters_that_cannot_be_shown(text):
    shown = visible(text)
    assert len(shown.splitlines()) <= 1
    assert not any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in shown)
    assert shown == shown.strip(" ")
    assert "  " not in shown


@given(st.text(st.characters(categories=["L", "Nd"], max_codepoint=0x17F), max_size=30))
def test_plain_letters_are_shown_as_they_are_and_nothing_is_said(text):
    assert visible(text) == text
    assert describe(text) == ()


@given(anything)
def test_short_forms_keep_to_their_limit(text):
    assert len(shortened(text, 10)) <= 10


def test_the_characters_of_case_c43_are_named_with_code_point_and_place():
    expected = {
        "The capital of\u00a0France is": "U+00A0 NO-BREAK SPACE after character 14",
        "The capital of\u200b France is": "U+200B ZERO WIDTH SPACE after character 14",
        "The capital of Fra\u200bnce is": "U+200B ZERO WIDTH SPACE after character 18",
        "The cap\u00adital of France is": "U+00AD SOFT HYPHEN after character 7",
        "\ufeffThe capital of France is": "U+FEFF ZERO WIDTH NO-BREAK SPACE (BYTE ORDER MARK) at the start",
        "The capital of Fr\u0430nce is": "U+0430 CYRILLIC SMALL LETTER A after character 17",
        "The capital  of France is": "2 spaces in a row after character 11",
        "The capital\tof France is": "U+0009 TAB after character 11",
    }
    assert {text: describe(text) for text in expected} == {text: (line,) for text, line in expected.items()}
    assert describe("The capital of France is") == ()


def test_the_apostrophes_of_case_c42_are_told_apart():
    assert describe("user\u2019s") == ("U+2019 RIGHT SINGLE QUOTATION MARK after character 4",)
    assert describe("user\u02bcs") == ("U+02BC MODIFIER LETTER APOSTROPHE after character 4",)
    assert describe("user's") == ()


def test_full_width_punctuation_and_blanks_of_case_c05_are_told_from_ascii():
    assert describe("答案：") == ("U+FF1A FULLWIDTH COLON after character 2",)
    assert describe("答案：\u3000")[1] == "U+3000 IDEOGRAPHIC SPACE after character 3"
    assert describe("答案:") == ()


def test_thin_spaces_of_case_c50_and_hyphens_that_do_not_break_are_named():
    assert describe("1\u2009234\u2009567") == ("U+2009 THIN SPACE after characters 1, 5",)
    assert describe("follow\u2011up") == ("U+2011 NON-BREAKING HYPHEN after character 6",)


def test_a_letter_of_another_script_is_found_in_the_word_it_hides_in():
    assert found("p\u0430ypal") == [(1, "U+0430", "look-alike")]
    assert found("\u043f\u0440\u0438\u0432a\u0442") == [(4, "U+0061", "look-alike")]  # a Latin a in a Russian word
    assert found("\u0438 and \u03b1 or \u043f\u0440\u0438") == []  # whole words of their own script
    assert found("\u03bf\u006f") == [(0, "U+03BF", "look-alike")]  # a tie is settled for Latin


def test_bidirectional_controls_are_named_and_right_to_left_text_is_not():
    assert found("a\u202eb\u2066") == [(1, "U+202E", "invisible"), (3, "U+2066", "invisible")]
    assert found("\u05e9\u05dc\u05d5\u05dd, \u0633\u0644\u0627\u0645") == []


def test_control_characters_have_names():
    assert describe("a\x00b") == ("U+0000 NULL after character 1",)
    assert describe("a\r\nb") == ("U+000D CARRIAGE RETURN after character 1",)
    assert describe("a\x01") == ("U+0001 CONTROL CHARACTER after character 1",)


def test_selectors_and_joiners_of_emoji_come_last_and_are_said_to_belong_there():
    text = "\u2764\ufe0f + \U0001f469\U0001f3fc\u200d\U0001f9b3 + 2\ufe0f\u20e3\u200b"
    assert {sort for _, code, sort in found(text) if code != "U+200B"} == {"emoji"}
    lines = describe(text)
    assert lines[0].startswith("U+200B")
    assert "U+FE0F VARIATION SELECTOR-16 inside an emoji after characters 1, 13" in lines
    assert "U+200D ZERO WIDTH JOINER inside an emoji after character 7" in lines
    assert visible(text) == text.replace("\u200b", "⟨U+200B⟩")


def test_selectors_and_joiners_elsewhere_are_invisible():
    assert found("a\ufe0fb\u200dc") == [(1, "U+FE0F", "invisible"), (3, "U+200D", "invisible")]


def test_many_places_are_counted():
    assert describe("a\tb\tc\td\te\t") == ("U+0009 TAB after characters 1, 3, 5 and 2 more",)


def test_indentation_and_line_ends_are_not_spaces_in_a_row():
    assert describe("def f():\n    return 1  \n") == ()


def test_a_very_long_run_of_selectors_is_read_in_one_pass():
    assert len(invisible_characters("a" + "\ufe0f" * 60_000)) == 60_000


def test_unfilled_jinja_is_flagged_as_in_case_c58():
    text = "{{question.strip()}}\nA. {{choices[0]}}\nB. {{choices[1]}}\nAnswer:"
    assert "{{question.strip()}} and 2 more" in unfilled_template(text)
    for template in ("{{ name }}", "{{- name | upper -}}", "{{a.b['c'](d)}}", "{% if x %}yes{% endif %}", "{{_x}}"):
        assert unfilled_template(f"Say {template}.")


def test_braces_that_are_text_are_not_templates():
    for text in (
        "today's date: {todays_date}",
        'Say hello.\n```json\n{"name": "demo"}\n```',
        "Return {} or {0} or {a.b} or {x!r:>5}",
        "Final:\n[{{'instruction': 'Convert 100 USD to EUR.', 'amount': 100}}]",
        "a cloak{ with a hood|}, oil paint",
        "{{}} {{ }} {{1}} title = {{Attention Is All}}",
        "Start directly with {",
        "{{" * 30_000,
        "{{a" * 20_000,
        "{%" * 30_000,
    ):
        assert unfilled_template(text) is None


def test_white_space_at_the_end_is_named():
    assert "(space)" in boundary_note("The capital of France is ")
    assert "(2 × space)" in boundary_note("is  ")
    assert "(newline and 4 × space)" in boundary_note("x\n    ")
    assert "(tab)" in boundary_note("x\t")
    assert "(U+00A0 NO-BREAK SPACE)" in boundary_note("x\u00a0")


def test_newlines_at_the_end_are_ordinary():
    for text in ("Answer:", "Answer:\n", "Answer:\n\n", "Answer:\r\n", ""):
        assert boundary_note(text) is None


def test_blanks_that_would_be_lost_are_shown():
    assert visible("Q: a\nA: ") == "Q: a⏎A:␣"
    assert visible(" a  b c\t") == "␣a␣␣b c⇥"
    assert visible("a \n b") == "a␣⏎␣b"
    assert visible("of\u00a0France") == "of⟨U+00A0⟩France"
    assert visible("a\ud800") == "a⟨U+D800⟩"
    assert visible("") == ""


def test_counts_are_grouped_by_thousands():
    assert [grouped(count) for count in (0, 999, 1000, 60_001, 2_097_152)] == [
        "0",
        "999",
        "1 000",
        "60 001",
        "2 097 152",
    ]


@given(st.floats(-300, 0))
def test_a_probability_has_two_significant_digits(log_prob: float) -> None:
    shown = percent(log_prob)
    if shown.startswith("e^"):
        assert 100 * math.exp(log_prob) < 1e-6
        return
    digits, unit = shown.split(" ")
    assert unit == "%"
    assert float(digits) == pytest.approx(100 * math.exp(log_prob), rel=0.051)
    assert "e" not in digits
    significant = digits.replace(".", "").lstrip("0")
    assert len(significant) <= (3 if digits == "100" else 2)


@pytest.mark.parametrize(
    ("log_prob", "shown"),
    [
        (0.0, "100 %"),
        (math.log(0.77), "77 %"),
        (math.log(0.0996), "10 %"),
        (math.log(0.035), "3.5 %"),
        (math.log(0.00996), "1.0 %"),
        (math.log(0.000012), "0.0012 %"),
        (-200.0, "e^−200.0"),
    ],
)
def test_probabilities_as_they_are_shown(log_prob: float, shown: str) -> None:
    assert percent(log_prob) == shown
