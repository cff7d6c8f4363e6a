"""Within and between: means over all pairs, and a ratio that says whether an intent keeps together."""

from itertools import combinations, product

import numpy as np
import pytest

from analysis.contrast import contrast
from analysis.results import Target, Tokens, Trace

TOKENS = Tokens("x", (0,), ("x",), ((0, 1),), ("text",), (False,))


def trace(states: np.ndarray) -> Trace:
    """A trace with states [layer, hidden]."""
    logs = np.zeros(1, np.float32)
    return Trace(TOKENS, Target("y", (0,), ("y",), True), logs, logs, states[None].astype(np.float32), None, None, None)


def around(middle: float, count: int, seed: int) -> list[Trace]:
    random = np.random.default_rng(seed)
    return [trace(middle + random.normal(size=(3, 5))) for _ in range(count)]


def test_means_are_over_all_pairs_inside_and_all_pairs_across() -> None:
    own, others = around(0, 4, 1), around(2, 3, 2)
    found = contrast(own, others)
    inside = [np.linalg.norm(a.hidden[0] - b.hidden[0], axis=-1) for a, b in combinations(own, 2)]
    across = [np.linalg.norm(a.hidden[0] - b.hidden[0], axis=-1) for a, b in product(own, others)]
    assert found.pairs == len(across)
    assert found.within.raw == pytest.approx(np.mean(inside, axis=0), rel=1e-6)
    assert found.between.raw == pytest.approx(np.mean(across, axis=0), rel=1e-6)
    assert found.share("raw") == pytest.approx(np.mean(inside, axis=0) / np.mean(across, axis=0), rel=1e-6)


@pytest.mark.parametrize("view", ["raw", "relative", "cosine"])
def test_groups_that_lie_apart_keep_together(view: str) -> None:
    far = [trace(np.where(np.arange(5) < 3, 9.0, -9.0) + t.hidden[0]) for t in around(0, 5, 3)]
    assert (contrast(around(9, 5, 4), far).share(view) < 0.5).all()


def test_the_same_prompts_are_no_contrast() -> None:
    same = [trace(np.ones((3, 5)))] * 3
    assert np.isnan(contrast(same, same).share("raw")).all()
