"""Alignments cover both sides, in order, and what they call equal is equal."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import diff
from analysis.results import Tokens

texts = st.lists(
    st.sampled_from([*"abc .,\n", "  ", "word", "words", "日本", "❤\ufe0f", "e\u0301", "\u200b"]), max_size=25
).map("".join)
ids = st.lists(st.integers(0, 4), max_size=30)


def hunks(a, b):
    """(operation, text of a, text of b) of every hunk but the equal ones."""
    return [
        (hunk.op, a[hunk.a_start : hunk.a_end], b[hunk.b_start : hunk.b_end])
        for hunk in diff.word_diff(a, b)
        if hunk.op != "equal"
    ]


def tokens_of(ids):
    n = len(ids)
    return Tokens("x" * n, tuple(ids), ("x",) * n, tuple((i, i + 1) for i in range(n)), ("text",) * n, (False,) * n)


def check_hunks(a, b):
    found = diff.word_diff(a, b)
    assert "".join(a[hunk.a_start : hunk.a_end] for hunk in found) == a
    assert "".join(b[hunk.b_start : hunk.b_end] for hunk in found) == b
    for hunk in found:
        before, after = a[hunk.a_start : hunk.a_end], b[hunk.b_start : hunk.b_end]
        assert (hunk.op == "equal") == (before == after)
        assert hunk.op != "insert" or (not before and after)
        assert hunk.op != "delete" or (before and not after)
        assert hunk.op != "replace" or (before and after)


def check_alignment(a, b):
    rows = diff.token_alignment(tokens_of(a), tokens_of(b))
    assert [i for i, _ in rows if i is not None] == list(range(len(a)))
    assert [j for _, j in rows if j is not None] == list(range(len(b)))
    assert all(a[i] == b[j] for i, j in rows if i is not None and j is not None)
    return rows


@given(texts, texts)
def test_hunks_cover_both_texts_in_order_and_equal_ones_are_equal(a, b):
    check_hunks(a, b)


@given(ids, ids)
def test_an_alignment_holds_every_token_once_in_order_and_links_equal_ids(a, b):
    check_alignment(a, b)


@given(ids, ids)
def test_an_alignment_links_as_many_tokens_as_the_textbook_recursion(a, b):
    """The length of a longest common subsequence, by its definition."""
    longest = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, one in enumerate(a):
        for j, other in enumerate(b):
            longest[i + 1][j + 1] = longest[i][j] + 1 if one == other else max(longest[i][j + 1], longest[i + 1][j])
    linked = [row for row in check_alignment(a, b) if None not in row]
    assert len(linked) == longest[len(a)][len(b)]


@given(texts)
def test_a_text_differs_from_itself_in_nothing(text):
    assert hunks(text, text) == []
    assert len(diff.word_diff(text, text)) == (1 if text else 0)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("The capital of France is", "The capital of Spain is", [("replace", "France", "Spain")]),
        ("the antidisestablishmentarian", "the antidisestablishmenterian", [("replace", "a", "e")]),
        ("The capital", "The capitel", [("replace", "a", "e")]),
        ("What is it", "What is it?", [("insert", "", "?")]),
        ("Please, say it", "say it", [("delete", "Please, ", "")]),
        ("two words", "two  words ", [("insert", "", " "), ("insert", "", " ")]),
        ("Fra\u200bnce", "France", [("delete", "\u200b", "")]),
        ("of France", "of\u00a0France", [("replace", " ", "\u00a0")]),
        ("他的策略", "她的策略。", [("replace", "他", "她"), ("insert", "", "。")]),
        ("hello world", "HELLO WORLD", [("replace", "hello", "HELLO"), ("replace", "world", "WORLD")]),
        ("the capital of", "the  capitel of", [("insert", "", " "), ("replace", "a", "e")]),
        ("a red fox", "a small quick cat", [("replace", "red fox", "small quick cat")]),
        ("❤\ufe0f is", "❤ is", [("replace", "❤\ufe0f", "❤")]),
        ("cafe\u0301", "cafe", [("replace", "e\u0301", "e")]),
        ("", "new", [("insert", "", "new")]),
    ],
)
def test_the_hunks_are_those_a_reader_sees(a, b, expected):
    assert hunks(a, b) == expected


def test_a_token_that_moved_is_linked_only_where_order_allows():
    assert diff.token_alignment(tokens_of([1, 2, 3]), tokens_of([2, 3, 1])) == ((0, None), (1, 0), (2, 1), (None, 2))


def test_long_texts_are_aligned_at_what_is_unique_in_both():
    words = [f"w{number}" for number in range(4000)]
    changed = words.copy()
    changed[17], changed[3983] = "first", "last"
    assert hunks(" ".join(words), " ".join(changed)) == [("replace", "w17", "first"), ("replace", "w3983", "last")]


def test_long_repetitive_texts_keep_the_laws():
    """Nothing is unique here, so these are cut into blocks; their number of pairs is what bounds the time."""
    draw = random.Random(0)
    for letters in ("日本", "a b", ".!", "\n "):
        check_hunks(*("".join(draw.choices(letters, k=3000)) for _ in range(2)))
    check_hunks("x " + "a " * 2000 + "y", "z " + "a " * 1900 + "w")
    check_alignment(draw.choices(range(3), k=2000), draw.choices(range(3), k=1500))


def test_blocks_are_short_enough_for_the_exact_alignment():
    for a_size, b_size in [(60_000, 60_000), (60_000, 10), (501, 501), (3, 1_000_000)]:
        ends = [(0, 0), *diff._block_ends(a_size, b_size)]
        assert ends[-1] == (a_size, b_size)
        sizes = [(after[0] - before[0]) * (after[1] - before[1]) for before, after in pairwise(ends)]
        assert max(sizes) <= diff.EXACT + a_size + b_size
