"""Cells of right-to-left text stand in the order in which they are read."""

import pytest

from analysis.direction import levels, right_to_left
from analysis.tokens import Cell


def line(*texts):
    return [Cell(text, 0, len(text), range(1), "text", False, text) for text in texts]


def in_sight(texts):
    """The cells from left to right, by rule L2: every stretch of at least a level is reversed, the highest first."""
    row = list(zip(levels(line(*texts)), texts, strict=True))
    for level in (2, 1):
        place = 0
        while place < len(row):
            end = place
            while end < len(row) and row[end][0] >= level:
                end += 1
            row[place:end] = row[place:end][::-1]
            place = max(end, place + 1)
    return [text for _, text in row]


@pytest.mark.parametrize(
    ("read", "seen"),
    [
        (["day", " is"], ["day", " is"]),
        (["day", " →", " י", "ו", "ם", ",", " ח", "ם"], ["day", " →", "ם", " ח", ",", "ם", "ו", " י"]),
        (["day", " י", "ם", ".", " So"], ["day", "ם", " י", ".", " So"]),
        (["י", "ם", " 1", "2", " ח"], [" ח", " 1", "2", "ם", "י"]),
        (["a", " י", " 3", ".", "1", "4", " ם", " b"], ["a", " ם", " 3", ".", "1", "4", " י", " b"]),
        (["י", " Paris", " is", " ם", "."], [".", " ם", " Paris", " is", "י"]),
        (["1", "2", " a"], ["1", "2", " a"]),
        (["(", "1", ")"], ["(", "1", ")"]),
    ],
)
def test_cells_are_seen_as_the_bidirectional_algorithm_orders_them(read, seen):
    assert in_sight(read) == seen


def test_a_line_has_the_direction_of_its_first_letter():
    assert right_to_left(line("1", ". ", "שלום", " Paris"))
    assert not right_to_left(line("→", "a", "ש"))
    assert not right_to_left(line("1", " "))
    assert levels([]) == ()
