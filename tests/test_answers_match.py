"""When answers count as the same, and when they hold what was expected."""

import pytest

from analysis.answers_match import answer_key, contains, is_expected, same_answer
from analysis.results import Answer


def answer(text: str, *pieces: str) -> Answer:
    return Answer(text, (1,), pieces or (text,), (-1.0,), False)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It is TRUE.", "true"),
        ("答案是东京。", "东京"),
        ("東京です", "東京"),
        ("नई दिल्ली है", "नई दिल्ली"),
        ("**Paris**, of course", "Paris"),
        ("London–Paris", "Paris"),
        ("It costs $5.", "5"),
        ("The answer is (A)", "A"),
        ('{"colour": 1}', '{"'),
        ("I write C++ code", "C++"),
        ("New\nYork", "New York"),
        ("New \u00a0York", "new  york"),
        ("I don’t know", "don't"),
        ("I don't know", "don’t"),
        ("It has 1,000 legs", "1000"),
        ("It has 1000 legs", "1,000"),
        ("1,234,567.5 of them", "1234567.5"),
    ],
)
def test_words_are_found_in_a_text(text, words):
    assert contains(text, words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mostly-true", "true"),
        ("true-ish", "true"),
        ("untrue", "true"),
        ("Parisian", "Paris"),
        ("3.14 or 1,003", "3"),
        ("-5 or −5", "5"),
        ("This is a dog", "A"),
        ("anything", ""),
        ("1,0000", "10000"),
        ("1,2,345", "2345"),
        ("NewYork", "New York"),
    ],
)
def test_parts_of_longer_words_and_numbers_are_not(text, words):
    assert not contains(text, words)


def test_an_expected_answer_may_be_typed_with_blanks_and_punctuation():
    assert is_expected(answer(" Paris.\nMore"), " Paris.")
    assert is_expected(answer("Really?"), "?")
    assert not is_expected(answer("Really"), "?")


@pytest.mark.parametrize("expected", ["B", "(B)", "B)", "B.", "[B]", "(B).", " (B) "])
@pytest.mark.parametrize("text", ["B", "(B)", "B)", "B.", " [B]\n"])
def test_an_expected_label_is_its_bare_letter(text, expected):
    assert is_expected(answer(text), expected, "contains")
    assert is_expected(answer(text), expected, "first line")
    assert not is_expected(answer(text), "(C)")


def test_an_expected_label_is_found_in_a_sentence_and_in_the_first_token():
    assert is_expected(answer("The answer is B, a dog"), "(B)")
    assert not is_expected(answer("It is a dog"), "(A)")
    assert is_expected(answer("B it is", "B", " it", " is"), "(B)", "first token")
    assert is_expected(answer("(B) it is", "(", "B", ")", " it is"), "(B)", "first token")
    assert not is_expected(answer("C it is", "C", " it", " is"), "(B)", "first token")


def test_an_answer_that_ends_at_once_is_the_same_only_as_another_one():
    ended = Answer("", (2,), ("<|im_end|>",), (-0.5,), True)
    assert answer_key(ended) == ""
    assert same_answer(ended, ended)
    assert not same_answer(ended, answer("Paris"))
    assert not same_answer(ended, None)
    assert not is_expected(ended, "Paris")


def test_the_first_line_is_the_first_that_is_not_blank():
    assert same_answer(answer("\n\n Paris.\nA"), answer("paris\nB"))
    assert not same_answer(answer("\n\nParis"), answer("\n\nRome"))


def test_the_first_token_is_the_expected_ones_beginning():
    assert is_expected(answer(" Paris is", " Par", "is", " is"), "Paris", "first token")
    assert not is_expected(answer("\nParis", "\n", "Paris"), "Paris", "first token")
