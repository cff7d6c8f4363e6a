"""What "More than noise?" returns: an edit's effect among the effects of rewordings that mean the same."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from analysis.prompts import Row

EffectName = Literal["jsd", "delta"]
EFFECTS: tuple[EffectName, ...] = ("jsd", "delta")
#: p of an effect larger than all of 19 baselines is 0.05: with fewer nothing could be told.
FEWEST = 19
WINDOW = 0.10  # shares of edited tokens on either side of the edit's


class SignificanceError(ValueError):
    """A wording whose effect cannot be compared with noise; the message is one sentence for the user."""


@dataclass(frozen=True)
class Baseline:
    """A rewording that means the same as the reference and changes about as many of its tokens as the edit."""

    text: str
    rules: tuple[str, ...]  # one after another
    share: float  # edited tokens / tokens of the reference
    jsd: float  # of the next-token distributions, nats
    delta: float  # log p(target) − that of the reference, nats

    def effect(self, name: EffectName) -> float:
        return self.jsd if name == "jsd" else abs(self.delta)


@dataclass(frozen=True)
class NoiseTest:
    """One wording's effect, ranked among its baselines'.

    `p` is None below `FEWEST` baselines, and where the effect is not there (|Δ| on another target).
    `adjusted` is p after Benjamini–Hochberg over all tests made together.
    """

    row: Row
    effect_name: EffectName
    jsd: float  # nats
    delta: float | None  # nats; None on a target of its own
    share: float
    baselines: tuple[Baseline, ...]
    asked: int
    reason: str = ""  # why there are fewer baselines than asked for
    adjusted: float | None = None

    @property
    def effect(self) -> float | None:
        if self.effect_name == "jsd":
            return self.jsd
        return None if self.delta is None else abs(self.delta)

    @property
    def effects(self) -> tuple[float, ...]:
        """The baselines', in their order."""
        return tuple(one.effect(self.effect_name) for one in self.baselines)

    @property
    def as_large(self) -> int | None:
        """How many baselines have an effect at least as large."""
        effect = self.effect
        return None if effect is None else sum(other >= effect for other in self.effects)

    @property
    def p(self) -> float | None:
        return None if self.effect is None else rank_p(self.effect, self.effects)

    @property
    def needed(self) -> int:
        """How many more baselines a verdict needs."""
        return max(FEWEST - len(self.baselines), 0)


def rank_p(effect: float, baselines: tuple[float, ...] | list[float]) -> float | None:
    """p = (1 + #{baseline ≥ effect}) / (B + 1), the rank test's p-value; None for fewer than 19 baselines.

    Where the edit is one more draw from the same distribution, P(p ≤ k/(B+1)) ≤ k/(B+1), whatever the
    distribution; ties count against the edit. Source: Phipson & Smyth, "Permutation P-values should never be
    zero", 2010.
    """
    if len(baselines) < FEWEST:
        return None
    return (1 + sum(other >= effect for other in baselines)) / (len(baselines) + 1)


def adjusted(tests: tuple[NoiseTest, ...]) -> tuple[NoiseTest, ...]:
    """The tests with their p-values adjusted by Benjamini–Hochberg for how many they are."""
    from scipy.stats import false_discovery_control  # half a second, which charts do not need

    known = [test.p for test in tests if test.p is not None]
    values = iter(np.minimum(false_discovery_control(known), 1.0).tolist() if known else [])
    return tuple(replace(test, adjusted=None if test.p is None else next(values)) for test in tests)


def by(tests: tuple[NoiseTest, ...], effect: EffectName) -> tuple[NoiseTest, ...]:
    """The same tests on another effect: nothing has to be run for it."""
    return adjusted(tuple(replace(test, effect_name=effect) for test in tests))
