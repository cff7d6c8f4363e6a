"""In which direction a line's cells are read: the bidirectional algorithm (UAX #9), cell by cell.

A browser orders characters; cells are boxes that it takes for neutral signs. Without levels of their
own, the letters of a Hebrew word that a tokenizer cut apart would stand in the wrong order.
"""

import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from analysis.tokens import Cell

Kind = Literal["left", "right", "number", "neutral"]


def right_to_left(line: Sequence[Cell]) -> bool:
    """Whether the first letter with a direction reads from right to left (rule P2)."""
    return next((kind == "right" for cell in line if (kind := _kind(cell.text)) in ("left", "right")), False)


def levels(line: Sequence[Cell]) -> tuple[int, ...]:
    """The embedding level of each cell of a line; odd levels run from right to left.

    The line itself has level 1 where `right_to_left`, else 0. A number keeps the order of its
    digits. Neutral cells go with the cells on both sides where these read the same way, else with
    the line.
    """
    base = int(right_to_left(line))
    level_of: dict[Kind, int] = {"left": 2 * base, "right": 1, "number": 2}
    kinds: list[Kind] = []
    strong: Kind = "right" if base else "left"
    for cell in line:
        kind = _kind(cell.text)
        if kind == "number" and strong == "left":
            kind = "left"
        elif kind in ("left", "right"):
            strong = kind
        kinds.append(kind)

    found = [level_of.get(kind, base) for kind in kinds]
    placed = [place for place, kind in enumerate(kinds) if kind != "neutral"]
    for before, after in pairwise(placed):
        inside = range(before + 1, after)
        numbers = kinds[before] == kinds[after] == "number"
        if numbers and len(inside) == 1 and line[before + 1].text in (".", ",", ":", "/"):
            level = 2
        elif kinds[before] == kinds[after] == "left":
            level = level_of["left"]
        else:  # a number inside right-to-left text counts as right-to-left for its neighbours
            level = 1 if "left" not in (kinds[before], kinds[after]) else base
        for place in inside:
            found[place] = level
    return tuple(found)


def _kind(text: str) -> Kind:
    number = False
    for character in text:
        match unicodedata.bidirectional(character):
            case "L":
                return "left"
            case "R" | "AL":
                return "right"
            case "EN" | "AN":
                number = True
    return "number" if number else "neutral"
