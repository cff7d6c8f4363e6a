"""Baselines change about as many tokens as asked for, mean the same, and leave alone what is protected."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.encoding import encode
from analysis.prompts import CONTROL_KINDS, Prompt
from analysis.variants.baselines import (
    Candidate,
    Ids,
    baselines,
    edit_distance,
    meaning_preserving,
    moved,
    token_edit_share,
)
from analysis.variants.results import Edit, applied
from tests import plain

TEXTS = [
    "The capital of France is",
    "Question: Which animal doesn't lay eggs?\nA. hen\nB. dog\nC. duck\nAnswer:",
    "Please answer {question} for the user, because she'd like to know two things about her trip to Rome.",
]
IDS = st.lists(st.integers(0, 4), max_size=12)


def ids_of(text: str) -> Ids | None:
    return encode(plain.loaded().encoder, Prompt(text)).ids if text.strip() else None


def slow_distance(a: list[int], b: list[int]) -> int:
    if not a or not b:
        return len(a) + len(b)
    return min(slow_distance(a[1:], b) + 1, slow_distance(a, b[1:]) + 1, slow_distance(a[1:], b[1:]) + (a[0] != b[0]))


def table_distance(a: list[int], b: list[int]) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        diagonal, row[0] = row[0], i
        for j, y in enumerate(b, start=1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (x != y))
    return row[-1]


def test_the_share_of_the_fixture_is_a_half() -> None:
    assert token_edit_share([1, 2, 3, 4], [1, 9, 3, 4, 5]) == 0.5


def test_equal_sequences_have_share_0_and_strangers_all() -> None:
    assert token_edit_share([1, 2], [1, 2]) == 0
    assert token_edit_share([1, 2], [3, 4]) == 1
    assert token_edit_share([1, 2], []) == 1
    assert token_edit_share([1], [2, 3, 4]) == 3


@given(IDS, IDS)
def test_the_distance_is_levenshteins(a: list[int], b: list[int]) -> None:
    assert edit_distance(a, b) == edit_distance(b, a) == table_distance(a, b)


@given(st.lists(st.integers(0, 2), max_size=5), st.lists(st.integers(0, 2), max_size=5))
def test_the_table_is_the_definition(a: list[int], b: list[int]) -> None:
    assert table_distance(a, b) == slow_distance(a, b)


def test_thousands_of_tokens_take_the_same_way() -> None:
    random = np.random.default_rng(0)
    a = random.integers(0, 50_000, 4_000).tolist()
    b = [token for token in a if token % 7] + [-1]
    assert edit_distance(a, b) == table_distance(a[-300:], [t for t in a[-300:] if t % 7] + [-1]) + sum(
        token % 7 == 0 for token in a[:-300]
    )


def made(text: str, share: float, seed: int = 0, count: int = 12, **more: object) -> tuple[Candidate, ...]:
    return baselines(text, ids_of, (share - 0.1, share + 0.1), count, seed, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
def test_shares_lie_in_the_window_and_ids_are_distinct(text: str, share: float) -> None:
    reference = ids_of(text)
    found = made(text, share)
    assert len(found) > 3
    assert reference is not None
    for one in found:
        assert one.ids == ids_of(one.text)
        assert one.share == token_edit_share(reference, one.ids)
        assert share - 0.1 <= one.share <= share + 0.1
        assert one.rules
    assert len({reference, *(one.ids for one in found)}) == len(found) + 1


def test_the_tested_wording_is_none_of_them() -> None:
    apart = [one.ids for one in made(TEXTS[0], 0.3)]
    again = made(TEXTS[0], 0.3, apart_from=apart)
    assert not {one.ids for one in again} & set(apart)


@pytest.mark.parametrize("text", TEXTS)
def test_the_same_seed_gives_the_same_and_another_seed_others(text: str) -> None:
    assert made(text, 0.4, 5) == made(text, 0.4, 5)
    assert made(text, 0.4, 5) != made(text, 0.4, 6)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
def test_what_is_protected_stays(share: float) -> None:
    for one in made(TEXTS[2], share, count=20):
        assert "{question}" in one.text
    start = TEXTS[2].index("user")
    for one in made(TEXTS[2], share, count=20, protected=[(start, start + len("user"))]):
        assert "user" in one.text


@pytest.mark.parametrize("text", TEXTS[:2])
def test_the_end_stays_where_the_target_follows_it(text: str) -> None:
    ending = text.split()[-1]
    found = made(text, 0.3, ending=ending)
    assert found
    assert all(one.text.endswith(ending) for one in found)


def test_several_edits_are_made_where_one_is_too_few() -> None:
    found = made(TEXTS[2], 0.6)
    assert max(len(one.rules) for one in found) > 1


@pytest.mark.parametrize("text", ["", "???", "a", "hello hello", "  "])
def test_texts_without_a_place_to_reword_end_soon(text: str) -> None:
    assert len(made(text, 0.5)) <= 12


def test_a_report_that_raises_stops_the_making() -> None:
    def stop(fraction: float) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        made(TEXTS[2], 0.6, report=stop)


def test_no_control_is_a_baseline() -> None:
    kinds = {rule.kind for rule in meaning_preserving()}
    assert kinds
    assert not kinds & {*CONTROL_KINDS, "option order"}


@given(st.data())
def test_spans_are_found_again_after_edits(data: st.DataObject) -> None:
    """Spans stand between edits: what is at the moved span is what was at the span."""
    pieces = data.draw(
        st.lists(st.tuples(st.text("ab", max_size=3), st.text("xyz", min_size=1, max_size=3)), min_size=1)
    )
    text, spans, edits = "", [], []
    for before, kept in pieces:
        after = data.draw(st.text("cd", max_size=3))
        if before != after:
            edits.append(Edit(len(text), len(text) + len(before), before, after, "rule"))
        spans.append((len(text) + len(before), len(text) + len(before) + len(kept)))
        text += before + kept
    new = applied(text, tuple(edits))
    assert [new[a:b] for a, b in moved(spans, edits)] == [kept for _, kept in pieces]
