"""Where names can stand without covering one another."""

import html
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from analysis.charts import words
from analysis.charts.look import Look

#: The size of plot that names are placed for, in px: what is free here is free on a larger screen too.
NOMINAL = (330.0, 300.0)
SPOT = 3.0  # px; points this close are one
SIDES = {
    "middle right": (1, 0),
    "middle left": (-1, 0),
    "top center": (0, 1),
    "bottom center": (0, -1),
    "top right": (1, 1),
    "top left": (-1, 1),
    "bottom right": (1, -1),
    "bottom left": (-1, -1),
}

Box = tuple[float, float, float, float]  # left, bottom, right, top


def placed_labels(
    xy: Float[np.ndarray, "point 2"],
    names: Sequence[str],
    extent: tuple[float, float],
    look: Look,
    first: Sequence[int] = (),
) -> list[tuple[str, str]]:
    """For each point its name, or "" where there is no room for it, and the side it stands on.

    Both axes have the same unit; `extent` is the width and height of the plot in it. Points on one spot share one
    name, "reference + 3". The points `first` choose their sides before the others.
    """
    places = xy * min(NOMINAL[0] / extent[0], NOMINAL[1] / extent[1])  # px
    half = look.point / 2 + 2
    marks: list[Box] = [(px - half, py - half, px + half, py + half) for px, py in places]
    found = [("", "middle right")] * len(names)
    written: list[Box] = []
    done: set[int] = set()
    for place in [*first, *(place for place in range(len(names)) if place not in first)]:
        if place in done:
            continue
        spot = set(np.flatnonzero(np.abs(places - places[place]).max(axis=1) < SPOT).tolist())
        done |= spot
        text = f"{names[place]} + {len(spot) - 1}" if len(spot) > 1 else names[place]
        width, height = 0.56 * look.size * words.width(html.unescape(text)), 1.1 * look.size
        around = [mark for other, mark in enumerate(marks) if other not in spot] + written
        for side in SIDES:
            box = _box(places[place], side, width, height, half)
            if not any(_meet(box, other) for other in around) and _inside(box, places):
                written.append(box)
                found[place] = (text, side)
                break
    return found


def _box(place: np.ndarray, side: str, width: float, height: float, half: float) -> Box:
    """The frame of a text that stands beside a mark, as Plotly puts it there."""
    dx, dy = SIDES[side]
    left = float(place[0]) + (dx - 1) / 2 * width + dx * half
    bottom = float(place[1]) + (dy - 1) / 2 * height + dy * half
    return left, bottom, left + width, bottom + height


def spread(wanted: Sequence[float], gap: float, height: float) -> list[float]:
    """Positions near the wanted ones, at least `gap` apart, within 0 … `height` where they all fit."""
    order = sorted(range(len(wanted)), key=lambda place: wanted[place])
    moved = [0.0] * len(wanted)
    # Groups that touch move as one: each is a list of places with the position of its first.
    groups: list[tuple[list[int], float]] = []
    for place in order:
        groups.append(([place], wanted[place]))
        while True:
            members, _ = groups[-1]
            start = sum(wanted[m] - gap * i for i, m in enumerate(members)) / len(members)
            start = max(0.0, min(start, height - gap * (len(members) - 1)))
            groups[-1] = (members, start)
            if len(groups) < 2:
                break
            before, first = groups[-2]
            if first + gap * len(before) <= start + 1e-9:
                break
            groups[-2:] = [(before + members, first)]
    for members, start in groups:
        for i, member in enumerate(members):
            moved[member] = start + gap * i
    return moved


def _meet(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _inside(box: Box, places: Float[np.ndarray, "point 2"]) -> bool:
    """Whether a name stays within the nominal plot, whose middle is the points' middle."""
    middle = (places.min(axis=0) + places.max(axis=0)) / 2
    return bool(abs(box[0] - middle[0]) <= NOMINAL[0] / 2 and abs(box[2] - middle[0]) <= NOMINAL[0] / 2)
