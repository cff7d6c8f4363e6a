"""Distances between the states of prompts, and their picture in a plane."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from analysis.dispersion import dispersion, plane, planes
from analysis.results import Target, Tokens, Trace

TOKENS = Tokens("a", (1,), ("a",), ((0, 1),), ("text",), (False,))


def trace(hidden: np.ndarray) -> Trace:
    """A trace with these states [layer, hidden]."""
    logs = np.log(np.array([0.25, 0.75]))
    return Trace(TOKENS, Target("y", (0,), ("y",), True), logs[:1], logs, hidden[None], None, None, None)


def random_traces(seed: int, prompts: int, layers: int = 3, hidden: int = 6) -> list[Trace]:
    return [trace(h) for h in np.random.default_rng(seed).normal(size=(prompts, layers, hidden))]


def test_distances_of_three_states_worked_out_by_hand():
    found = dispersion([trace(np.array([h], dtype=float)) for h in ((0, 3), (4, 0), (0, -3))])
    np.testing.assert_allclose(found.from_reference.raw[:, 0], [0, 5, 6])
    np.testing.assert_allclose(found.to_reference.raw, [5.5])
    np.testing.assert_allclose(found.to_reference.relative, [(5 / 3.5 + 6 / 3) / 2])
    np.testing.assert_allclose(found.to_reference.cosine, [(1 + 2) / 2])
    np.testing.assert_allclose(found.pairwise.raw, [(5 + 6 + 5) / 3])
    np.testing.assert_allclose(found.pairwise.relative, [(5 / 3.5 + 6 / 3 + 5 / 3.5) / 3])
    np.testing.assert_allclose(found.pairwise.cosine, [(1 + 2 + 1) / 3])
    centroid = np.array([4 / 3, 0])
    np.testing.assert_allclose(
        found.to_centroid.raw, [(2 * np.hypot(4 / 3, 3) + np.linalg.norm(np.array([4, 0]) - centroid)) / 3]
    )


@given(st.integers(0, 1000), st.integers(2, 7))
def test_the_mean_square_distance_to_the_centroid_is_half_that_of_pairs(seed, prompts):
    """Σ_i ‖h_i − c‖² = 1/N Σ_{i<j} ‖h_i − h_j‖², seen in the picture of two dimensions."""
    states = np.random.default_rng(seed).normal(size=(prompts, 1, 2))
    xy = plane([trace(h) for h in states], 0).xy
    assert (xy**2).sum() == pytest.approx((pdist(states[:, 0]) ** 2).sum() / prompts)


@given(st.integers(0, 1000), st.floats(0.1, 100))
def test_relative_and_cosine_distances_do_not_depend_on_the_scale(seed, scale):
    traces = random_traces(seed, 4)
    found, scaled = dispersion(traces), dispersion([trace(t.hidden[0] * scale) for t in traces])
    for mean in ("to_reference", "pairwise", "to_centroid"):
        one, other = getattr(found, mean), getattr(scaled, mean)
        np.testing.assert_allclose(other.raw, scale * one.raw)
        np.testing.assert_allclose(other.relative, one.relative)
        np.testing.assert_allclose(other.cosine, one.cosine)


def test_the_order_of_the_other_prompts_changes_no_mean():
    traces = random_traces(1, 5)
    found, turned = dispersion(traces), dispersion([traces[0], *traces[:0:-1]])
    np.testing.assert_allclose(turned.to_reference.raw, found.to_reference.raw)
    np.testing.assert_allclose(turned.pairwise.cosine, found.pairwise.cosine)


@pytest.mark.parametrize("copies", [1, 2, 5])
def test_one_prompt_and_equal_prompts_do_not_disperse(copies):
    traces = random_traces(2, 1) * copies
    found = dispersion(traces)
    assert found.prompts == copies
    for mean in (found.to_reference, found.pairwise, found.to_centroid):
        for view in (mean.raw, mean.relative, mean.cosine):
            assert view.tolist() == [0, 0, 0]
    for flat in (plane(traces, 1), *planes(traces)):
        assert (flat.xy == np.zeros((copies, 2))).all()
        assert flat.explained.tolist() == [0, 0]


def test_without_prompts_there_is_nothing_to_compare():
    with pytest.raises(ValueError, match="no prompt could be analysed"):
        dispersion([])


def test_states_in_a_plane_keep_their_distances():
    states = np.random.default_rng(3).normal(size=(6, 2)) @ np.random.default_rng(4).normal(size=(2, 9)) + 5
    found = plane([trace(h[None]) for h in states], 0)
    np.testing.assert_allclose(pdist(found.xy), pdist(states))
    assert found.explained.sum() == pytest.approx(1)
    assert found.explained[0] >= found.explained[1]


def test_states_on_a_line_have_one_axis():
    states = np.outer(np.array([0, 1, 5]), np.array([1.0, 2, 2]))
    found = plane([trace(h[None]) for h in states], 0)
    np.testing.assert_allclose(found.xy[:, 1], 0)
    np.testing.assert_allclose(found.xy[:, 0], np.array([0, 3, 15]) - 6)
    np.testing.assert_allclose(found.explained, [1, 0])


@given(st.integers(0, 1000), st.integers(2, 6))
def test_the_plane_holds_the_largest_variance_and_has_a_fixed_sign(seed, prompts):
    traces = random_traces(seed, prompts, layers=1)
    states = np.stack([t.hidden[0, 0] for t in traces])
    found = plane(traces, 0)
    variances = np.sort(np.linalg.eigvalsh(np.cov(states.T)))[::-1]
    np.testing.assert_allclose(found.explained, variances[:2] / variances.sum(), atol=1e-9)
    for axis in found.xy.T:
        assert axis[np.abs(axis).argmax()] >= 0
    np.testing.assert_allclose(plane(traces, 0).xy, found.xy)


@given(st.integers(0, 1000))
def test_aligned_planes_are_the_same_pictures_turned(seed):
    traces = random_traces(seed, 5)
    for layer, turned in enumerate(planes(traces)):
        found = plane(traces, layer)
        np.testing.assert_allclose(pdist(turned.xy), pdist(found.xy))
        assert turned.explained.sum() == pytest.approx(found.explained.sum())


def test_points_that_only_turn_from_layer_to_layer_stay_where_they_are():
    xy = np.random.default_rng(5).normal(size=(6, 2))
    turns = [np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) for a in (0, 1, 2.5, 4)]
    turns.append(np.array([[1, 0], [0, -1]]))
    layers = np.stack([xy @ turn for turn in turns], axis=1)  # [prompt, layer, 2]
    first, *others = planes([trace(h) for h in layers])
    for other in others:
        np.testing.assert_allclose(other.xy, first.xy, atol=1e-12)


def test_a_layer_without_spread_does_not_hinder_the_next():
    states = np.random.default_rng(6).normal(size=(4, 3, 5))
    states[:, 0] = states[0, 0]
    found = planes([trace(h) for h in states])
    assert not found[0].xy.any()
    np.testing.assert_allclose(found[1].xy, plane([trace(h) for h in states], 1).xy)
