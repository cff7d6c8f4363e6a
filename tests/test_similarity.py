"""An order in which alike prompts are neighbours, and maps that keep distances."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform

from analysis.dispersion import dispersion
from analysis.similarity import distance_matrix, maps, mds, order
from analysis.taylor import compare
from tests.test_dispersion import random_traces, trace


def matrix_of(points: np.ndarray) -> np.ndarray:
    return squareform(pdist(points))


@given(st.integers(0, 1000), st.integers(1, 30))
def test_points_on_a_line_are_put_in_their_order(seed, count):
    line = np.random.default_rng(seed).normal(size=(count, 1))
    found = order(matrix_of(line))
    ranks = line[found, 0]
    assert sorted(found) == list(range(count))
    if count > 2:
        assert (np.diff(ranks) > 0).all() or (np.diff(ranks) < 0).all()


@given(st.integers(0, 1000), st.integers(3, 12))
def test_the_first_prompt_stands_in_the_first_half(seed, count):
    found = order(matrix_of(np.random.default_rng(seed).normal(size=(count, 4))))
    assert found.index(0) <= count / 2


def test_groups_stay_together():
    points = np.array([[0.0], [100.0], [1.0], [101.0], [2.0], [102.0]])
    found = order(matrix_of(points))
    assert {frozenset(found[:3]), frozenset(found[3:])} == {frozenset({0, 2, 4}), frozenset({1, 3, 5})}


def test_what_cannot_be_ordered_stays_as_it_is():
    broken = np.zeros((4, 4))
    broken[0, 1] = broken[1, 0] = np.nan
    assert order(broken) == [0, 1, 2, 3]
    assert order(np.zeros((0, 0))) == []


def test_a_matrix_holds_the_distance_of_every_two_prompts():
    traces = random_traces(1, 5)
    found = dispersion(traces)
    for view, name in (("raw", "distance"), ("relative", "relative"), ("cosine", "cosine")):
        matrix = distance_matrix(found, 2, view)
        np.testing.assert_array_equal(matrix, matrix.T)
        for a in range(5):
            for b in range(5):
                expected = getattr(compare(traces[a], traces[b]), name)[2]
                assert matrix[a, b] == pytest.approx(expected, abs=1e-12)


def test_one_prompt_is_at_distance_0_of_itself():
    assert distance_matrix(dispersion(random_traces(1, 1)), 0, "raw").tolist() == [[0.0]]


@given(st.integers(0, 1000), st.integers(1, 12))
def test_points_of_a_plane_keep_all_their_distances(seed, count):
    points = np.random.default_rng(seed).normal(size=(count, 2))
    found = mds(matrix_of(points))
    assert found.stress < 1e-3
    np.testing.assert_allclose(matrix_of(found.xy), matrix_of(points), atol=1e-2)
    np.testing.assert_allclose(found.xy.mean(axis=0), 0, atol=1e-9)


@given(st.integers(0, 300), st.integers(3, 12))
def test_stress_is_what_is_off_and_no_more_than_that_of_the_principal_plane(seed, count):
    points = np.random.default_rng(seed).normal(size=(count, 6))
    wanted, found = matrix_of(points), mds(matrix_of(points))
    stress = np.sqrt(((matrix_of(found.xy) - wanted) ** 2).sum() / (wanted**2).sum())
    assert found.stress == pytest.approx(stress, abs=1e-6)
    centred = points - points.mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    flat = matrix_of(u[:, :2] * s[:2])
    assert found.stress <= np.sqrt(((flat - wanted) ** 2).sum() / (wanted**2).sum()) + 1e-9


def test_equal_and_unknown_prompts_are_one_spot():
    assert mds(np.zeros((3, 3))).xy.tolist() == [[0, 0]] * 3
    assert mds(np.zeros((3, 3))).stress == 0
    unknown = mds(np.full((3, 3), np.nan))
    assert unknown.xy.tolist() == [[0, 0]] * 3
    assert unknown.stress == 1


def test_maps_do_not_turn_from_layer_to_layer():
    flat = np.random.default_rng(4).normal(size=(6, 2))
    angles = (0.0, 0.7, 2.0, 3.1)
    turns = [np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]]) for t in angles]
    found = maps(dispersion([trace(np.stack([turn @ point for turn in turns])) for point in flat]), "raw")
    for later in found[1:]:
        np.testing.assert_allclose(later.xy, found[0].xy, atol=1e-2)
