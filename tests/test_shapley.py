"""Laws of Shapley values, on games whose values can be derived by hand."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from analysis import shapley


def tables(most: int = 6) -> st.SearchStrategy[np.ndarray]:
    numbers = st.floats(-100, 100)
    return st.integers(1, most).flatmap(lambda players: arrays(np.float64, 1 << players, elements=numbers))


def random_table(players: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=1 << players)


def by_orders(table: Sequence[float]) -> list[float]:
    """The definition: the mean over all orders of what a player adds when its turn comes."""
    players = len(table).bit_length() - 1
    sums = [Fraction(0)] * players
    orders = list(permutations(range(players)))
    for order in orders:
        mask = 0
        for player in order:
            sums[player] += Fraction(table[mask | 1 << player]) - Fraction(table[mask])
            mask |= 1 << player
    return [float(total / len(orders)) for total in sums]


def looked_up(table: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    def value_of(masks: np.ndarray) -> np.ndarray:
        assert len(set(masks.tolist())) == len(masks)
        return table[masks]

    return value_of


@given(tables(5))
def test_values_are_the_mean_over_all_orders(table: np.ndarray) -> None:
    np.testing.assert_allclose(shapley.exact(table), by_orders(table.tolist()), atol=1e-9)


@given(tables(8))
def test_values_sum_to_what_all_do_together(table: np.ndarray) -> None:
    assert shapley.exact(table).sum() == pytest.approx(table[-1] - table[0], abs=1e-9)


@given(st.integers(2, 6), st.integers(0, 1000))
def test_equal_players_have_equal_values(players: int, seed: int) -> None:
    """Players 0 and 1 are exchanged in half of the game."""
    table = random_table(players, seed)
    masks = np.arange(len(table))
    exchanged = masks & ~3 | (masks & 1) << 1 | (masks & 2) >> 1
    values = shapley.exact((table + table[exchanged]) / 2)
    assert values[0] == pytest.approx(values[1], abs=1e-12)


@given(st.integers(1, 6), st.integers(0, 1000))
def test_a_player_that_changes_nothing_has_0(players: int, seed: int) -> None:
    table = random_table(players, seed)
    masks = np.arange(len(table))
    table = table[masks & ~1]
    assert shapley.exact(table)[0] == 0
    assert shapley.interactions(table)[0].tolist() == [0] * players
    assert shapley.sampled(looked_up(table), players, 4, seed).values[0] == 0


def test_two_that_only_work_together_share_alike() -> None:
    assert shapley.exact(np.array([0.0, 0, 0, 6])).tolist() == [3, 3]
    assert shapley.interactions(np.array([0.0, 0, 0, 6])).tolist() == [[0, 6], [6, 0]]


def test_effects_that_add_up_are_the_values_and_nobody_interacts() -> None:
    effects = np.array([1.0, -2, 0.5, 4])
    table = np.array([sum(effects[i] for i in range(4) if mask >> i & 1) for mask in range(16)])
    np.testing.assert_allclose(shapley.exact(table), effects)
    np.testing.assert_allclose(shapley.interactions(table), 0, atol=1e-12)
    drawn = shapley.sampled(looked_up(table), 4, 3, 0)
    np.testing.assert_allclose(drawn.values, effects)
    np.testing.assert_allclose(drawn.standard_errors, 0, atol=1e-12)


def test_interactions_of_three_by_hand() -> None:
    """v = 1 where all three take part: I_ij = ½ · (0 without the third) + ½ · (1 with it)."""
    table = np.array([0.0] * 7 + [1])
    np.testing.assert_allclose(shapley.interactions(table), (np.ones((3, 3)) - np.eye(3)) / 2)


@pytest.mark.parametrize("players", [3, 6, 9])
def test_sampled_values_are_within_three_standard_errors_of_the_exact_ones(players: int) -> None:
    table = random_table(players, players)
    drawn = shapley.sampled(looked_up(table), players, 400, seed=1)
    assert (np.abs(drawn.values - shapley.exact(table)) <= 3 * drawn.standard_errors + 1e-12).all()
    assert drawn.values.sum() == pytest.approx(table[-1] - table[0])


def test_standard_errors_say_how_far_repetitions_spread() -> None:
    """Over 300 repetitions the spread of the estimates is the root mean square of their standard errors, to 15 %."""
    table = random_table(5, 3)
    drawn = [shapley.sampled(looked_up(table), 5, 20, seed) for seed in range(300)]
    spread = np.std([one.values for one in drawn], axis=0)
    claimed = np.sqrt(np.mean([one.standard_errors**2 for one in drawn], axis=0))
    np.testing.assert_allclose(claimed, spread, rtol=0.15)


def test_samples_depend_on_the_seed_alone() -> None:
    table = random_table(6)
    one, same, other = (shapley.sampled(looked_up(table), 6, 5, seed) for seed in (1, 1, 2))
    assert one.values.tolist() == same.values.tolist()
    assert one.values.tolist() != other.values.tolist()
    assert one.coalitions <= 2 * 5 * 5 + 2


@pytest.mark.parametrize("size", [0, 1, 3, 6])
def test_a_table_that_is_not_of_all_coalitions_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match=f"a table of {size} values"):
        shapley.exact(np.zeros(size))
