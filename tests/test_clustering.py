"""Features of one class draw together in a network that learns digits: the distances, and the training."""

import itertools
import math
import random

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from analysis import clustering
from analysis.clustering import Clustering, class_distances, digits

PROMISED = (0.74, 0.83)  # same ÷ different of an untrained network, at its last hidden layer and its logits


@pytest.fixture(scope="module")
def found() -> Clustering:
    return digits()


def held_out() -> tuple[np.ndarray, np.ndarray]:
    pixels, classes = load_digits(return_X_y=True)
    _, test, _, test_classes = train_test_split(pixels, classes, test_size=1 / 3, stratify=classes, random_state=0)
    return test, test_classes


def means_by_loop(features: np.ndarray, classes: np.ndarray) -> tuple[float, float]:
    """Pair by pair, number by number."""
    sums, counts = {True: 0.0, False: 0.0}, {True: 0, False: 0}
    units = [[x / math.sqrt(sum(y * y for y in row)) for x in row] for row in features.tolist()]
    for (u, a), (v, b) in itertools.combinations(zip(units, classes.tolist(), strict=True), 2):
        sums[a == b] += math.dist(u, v)
        counts[a == b] += 1
    return sums[True] / counts[True], sums[False] / counts[False]


def points(seed: int, count: int = 12, width: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Four points of each of three classes."""
    made = np.random.default_rng(seed)
    return made.normal(size=(count, width)), made.permutation(np.arange(count) % 3)


# --- distances


def test_distances_of_four_points_worked_out_by_hand():
    same, different = class_distances(np.array([[3.0, 0], [0, 2], [-5, 0], [0, 7]]), np.array([1, 1, 2, 2]))
    assert same == pytest.approx(math.sqrt(2))
    assert different == pytest.approx((2 + math.sqrt(2) + 0 + math.sqrt(2)) / 4)


@given(st.integers(0, 1000))
def test_means_are_those_of_a_loop_over_all_pairs(seed):
    assert class_distances(*points(seed)) == pytest.approx(means_by_loop(*points(seed)))


@given(st.integers(0, 1000))
def test_both_sorts_of_pairs_together_are_all_pairs(seed):
    features, classes = points(seed)
    same, different = class_distances(features, classes)
    alike = sum(math.comb(int(count), 2) for count in np.bincount(classes))
    pairs = math.comb(len(classes), 2)
    units = features / np.linalg.norm(features, axis=1, keepdims=True)
    total = np.linalg.norm(units[:, None] - units[None], axis=-1).sum() / 2
    assert alike * same + (pairs - alike) * different == pytest.approx(total)


@given(st.integers(0, 1000), st.floats(1e-3, 1e3))
def test_neither_lengths_nor_order_nor_names_of_classes_matter(seed, scale):
    features, classes = points(seed)
    lengths = scale * np.arange(1, len(features) + 1)[:, None]
    order = np.random.default_rng(seed).permutation(len(features))
    moved = class_distances((features * lengths)[order], 7 - 2 * classes[order])
    assert moved == pytest.approx(class_distances(features, classes))


def test_features_that_are_all_zeros_stay_at_zero():
    same, different = class_distances(np.array([[0.0, 0], [4, 0], [0, 0]]), np.array([0, 0, 1]))
    assert (same, different) == pytest.approx((1, (0 + 1) / 2))


# --- the network


def test_the_first_layer_is_the_test_images(found):
    images, classes = held_out()
    assert found.layers[0] == "pixels"
    assert found.pairs == len(images) * (len(images) - 1) / 2
    units = images / np.sqrt((images**2).sum(axis=1))[:, None]
    sums, counts = np.zeros(2), np.zeros(2)
    for i in range(1, len(units)):
        apart = np.sqrt(((units[:i] - units[i]) ** 2).sum(axis=1))
        for which, of_one_digit in enumerate((True, False)):
            chosen = (classes[:i] == classes[i]) == of_one_digit
            sums[which] += apart[chosen].sum()
            counts[which] += chosen.sum()
    np.testing.assert_allclose((found.same[0, 0], found.different[0, 0]), sums / counts, rtol=1e-6)
    assert means_by_loop(images[:40], classes[:40]) == pytest.approx(class_distances(images[:40], classes[:40]))


def test_the_layers_are_those_of_a_network_built_of_torchs_own_modules():
    widths = (64, 9, 8, 10)
    weights = clustering._first_weights(widths, torch.Generator().manual_seed(3))
    images = torch.rand(5, 64, generator=torch.Generator().manual_seed(4))
    expected = [images]
    for k, (matrix, bias) in enumerate(zip(weights[::2], weights[1::2], strict=True)):
        linear = torch.nn.utils.skip_init(torch.nn.Linear, widths[k], widths[k + 1])
        linear.load_state_dict({"weight": matrix.T, "bias": bias})
        expected.append(torch.nn.Sequential(linear, torch.nn.ReLU() if k < 2 else torch.nn.Identity())(expected[-1]))
    for layer, other in zip(clustering._features(images, weights), expected, strict=True):
        torch.testing.assert_close(layer, other)


def test_first_weights_keep_the_variance_that_relu_halves():
    matrix, bias = clustering._first_weights((200, 300), torch.Generator().manual_seed(0))
    assert matrix.var().item() == pytest.approx(2 / 200, rel=0.02)
    assert not bias.any()


def test_a_third_of_the_images_of_each_digit_is_held_out_of_training():
    images, classes, tested, tested_classes = clustering._split()
    everything = load_digits().data.tolist()
    assert sorted([*(images * 16).tolist(), *(tested * 16).tolist()]) == sorted(everything)
    np.testing.assert_array_equal(tested.numpy() * 16, held_out()[0])
    shares = np.bincount(tested_classes) / (np.bincount(classes) + np.bincount(tested_classes))
    np.testing.assert_allclose(shares, 1 / 3, atol=0.01)


def test_every_epoch_is_measured_at_every_layer(found):
    assert found.epochs == tuple(range(21))
    assert found.layers == ("pixels", "hidden 1", "hidden 2", "hidden 3", "logits")
    assert found.same.shape == found.different.shape == found.ratio.shape == (21, 5)
    assert found.accuracy.shape == (21,)
    np.testing.assert_allclose(found.ratio * found.different, found.same)


def test_training_does_not_move_the_pixels(found):
    assert len(set(found.same[:, 0])) == len(set(found.different[:, 0])) == 1


def test_after_a_relu_nothing_is_farther_apart_than_a_right_angle(found):
    assert (found.different[:, :-1] <= math.sqrt(2)).all()
    assert (found.different <= 2).all()
    assert (found.same > 0).all()


def test_after_training_images_of_one_digit_are_less_than_half_as_far_apart_as_others(found):
    assert found.accuracy[-1] > 0.95
    assert (found.same[-1, -2:] < found.different[-1, -2:] / 2).all()


def test_before_training_they_are_not(found):
    low, high = PROMISED
    assert found.accuracy[0] < 0.3
    assert (found.ratio[0, -2:] >= low).all()
    assert (found.ratio[0, -2:] <= high).all()


def test_the_contrast_is_one_of_the_network_and_not_of_its_first_weights():
    untrained = np.array([digits(epochs=0, seed=seed).ratio[0, -2:] for seed in range(6)])
    assert (untrained > 0.65).all()
    assert (untrained.mean(axis=0) >= PROMISED[0]).all()
    assert (untrained.mean(axis=0) <= PROMISED[1]).all()
    assert (digits(epochs=15, seed=1).ratio[-1, -2:] < 0.5).all()


def test_clusters_are_tighter_the_deeper_the_layer(found):
    assert (np.diff(found.ratio[-1]) < 0).all()


# --- the run


def test_a_seed_decides_every_number():
    one, other, third = digits(epochs=2, seed=5), digits(epochs=2, seed=5), digits(epochs=2, seed=6)
    for name in ("same", "different", "accuracy"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert (one.same[:, 1:] != third.same[:, 1:]).all()
    np.testing.assert_array_equal(one.same[:, 0], third.same[:, 0])  # the same test images


def test_a_longer_run_begins_as_a_shorter_one():
    short, long = digits(epochs=1), digits(epochs=2)
    np.testing.assert_array_equal(short.same, long.same[:2])
    np.testing.assert_array_equal(short.accuracy, long.accuracy[:2])


def test_progress_goes_from_nothing_to_all_in_small_steps():
    heard: list[float] = []
    digits(heard.append, epochs=3)
    assert (heard[0], heard[-1]) == (0, 1)
    assert all(0 < b - a < 0.1 for a, b in itertools.pairwise(heard))


@pytest.mark.parametrize("calls", [1, 4, 8])
def test_a_run_stops_where_the_report_raises(calls):
    heard: list[float] = []

    def stop(fraction: float) -> None:
        heard.append(fraction)
        if len(heard) == calls:
            raise InterruptedError("stop")

    with pytest.raises(InterruptedError):
        digits(stop, epochs=3)
    assert len(heard) == calls


def test_nothing_global_is_changed():
    def state() -> list[object]:
        return [
            random.getstate(),
            [part.tolist() if isinstance(part, np.ndarray) else part for part in np.random.get_state()],
            torch.get_rng_state().tolist(),
            torch.initial_seed(),
            torch.get_num_threads(),
            torch.get_num_interop_threads(),
            torch.get_default_dtype(),
            torch.is_grad_enabled(),
            torch.are_deterministic_algorithms_enabled(),
            torch.get_float32_matmul_precision(),
        ]

    before = state()
    digits(epochs=1)
    assert state() == before


def test_global_randomness_changes_nothing():
    one = digits(epochs=1)
    np.random.rand(3)
    torch.rand(3)
    random.random()
    np.testing.assert_array_equal(digits(epochs=1).same, one.same)
