"""Many points in one row of a chart: moved up and down a little where they would cover one another."""

from collections.abc import Sequence

import numpy as np

ROOM = 0.34  # of a row, on either side of its middle
ACROSS = 330.0  # px: the plot that points are kept apart in


def offsets(values: Sequence[float], span: float, size: float, row: float) -> list[float]:
    """How far each point is moved, as a share of its row, so that it covers none before it where there is room.

    `span` is the width of the axis in the values' unit; `size` of a mark and height of the `row` are in px.
    The result depends on the values alone, and equal values come out on both sides of the middle in turn.
    """
    step = min(0.9 * size / row, ROOM / 2)
    levels = [0.0, *(side * k * step for k in range(1, int(ROOM / step) + 1) for side in (1, -1))]
    near = span * size / ACROSS
    last = [-np.inf] * len(levels)  # the value of the last point on each level
    found = [0.0] * len(values)
    for place in sorted(range(len(values)), key=lambda k: values[k]):
        free = [level for level in range(len(levels)) if values[place] - last[level] >= near]
        level = free[0] if free else int(np.argmin(last))
        found[place] = levels[level]
        last[level] = values[place]
    return found
