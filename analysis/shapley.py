r"""Shapley values of players whose coalitions have values: who did how much of what all of them do together.

A coalition is a bit mask: bit i says that player i takes part. Values sum to v(all) − v(none), equal
players get equal values, and a player that changes nothing gets 0.

Source: Shapley, "A value for n-person games", 1953; interactions: Grabisch & Roubens 1999; permutation
sampling: Castro, Gómez & Tejada 2009.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial

import numpy as np
from jaxtyping import Float, Int

Values = Float[np.ndarray, " player"]
#: The values of many coalitions, given as masks, each asked for once.
ValueOf = Callable[[Int[np.ndarray, " coalition"]], Float[np.ndarray, " coalition"]]


@dataclass(frozen=True, eq=False)
class Sampled:
    """Shapley values from random orders of the players, with their standard errors."""

    values: Values
    standard_errors: Values
    coalitions: int  # how many values were asked for


def exact(table: Float[np.ndarray, " coalition"]) -> Values:
    r"""φ_i = Σ_{S∌i} |S|!(n−|S|−1)!/n! · (v(S∪i) − v(S)), from v of all 2ⁿ coalitions in the order of their masks."""
    players = _players(table)
    masks = np.arange(len(table))
    sizes = np.bitwise_count(masks)
    share = np.array([factorial(s) * factorial(players - s - 1) / factorial(players) for s in range(players)])
    found = []
    for player in range(players):
        without = masks[masks >> player & 1 == 0]
        found.append(share[sizes[without]] @ (table[without | 1 << player] - table[without]))
    return np.array(found)


def interactions(table: Float[np.ndarray, " coalition"]) -> Float[np.ndarray, "player player"]:
    r"""How much more two players do together than each alone, on average over the others; 0 on the diagonal.

    I_ij = Σ_{S∌i,j} |S|!(n−|S|−2)!/(n−1)! · (v(S∪ij) − v(S∪i) − v(S∪j) + v(S)).
    """
    players = _players(table)
    masks = np.arange(len(table))
    sizes = np.bitwise_count(masks)
    share = [factorial(s) * factorial(players - s - 2) / factorial(players - 1) for s in range(players - 1)]
    found = np.zeros((players, players))
    for i in range(players):
        for j in range(i):
            both = 1 << i | 1 << j
            without = masks[masks & both == 0]
            more = table[without | both] - table[without | 1 << i] - table[without | 1 << j] + table[without]
            found[i, j] = found[j, i] = np.array(share)[sizes[without]] @ more
    return found


def sampled(value_of: ValueOf, players: int, pairs: int, seed: int) -> Sampled:
    """The mean over `pairs` ≥ 2 random orders and their reverses of what each player adds when its turn comes.

    An order and its reverse are one draw: a player that comes early in one comes late in the other, which
    evens out much of the chance. Standard errors are those of the mean over draws. Every order's
    contributions sum to v(all) − v(none), so the values do.
    """
    random = np.random.default_rng(seed)
    drawn = [random.permutation(players) for _ in range(pairs)]
    orders = np.array([order for one in drawn for order in (one, one[::-1])])  # [2 · pairs, player]
    masks = np.cumsum(1 << orders, axis=1)  # [2 · pairs, player]
    masks = np.concatenate([np.zeros((len(orders), 1), dtype=masks.dtype), masks], axis=1)
    unique, place = np.unique(masks, return_inverse=True)
    values = np.asarray(value_of(unique), dtype=np.float64)[place.reshape(masks.shape)]
    added = np.empty(orders.shape)
    np.put_along_axis(added, orders, np.diff(values, axis=1), axis=1)
    draws = added.reshape(pairs, 2, players).mean(axis=1)
    return Sampled(draws.mean(axis=0), draws.std(axis=0, ddof=1) / np.sqrt(pairs), len(unique))


def _players(table: Float[np.ndarray, " coalition"]) -> int:
    players = max(len(table).bit_length() - 1, 0)
    if len(table) != 1 << players or players < 1:
        raise ValueError(f"a table of {len(table)} values is not one of all coalitions: 2, 4, 8, …")
    return players
