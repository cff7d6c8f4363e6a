"""What "Which kinds are risky?" returns: the effects of many rewordings, by the kind of edit."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from analysis.prompts import CONTROL_KINDS

Metric = Literal["delta", "displacement", "flip"]
METRICS: tuple[Metric, ...] = ("delta", "displacement", "flip")
Alignment = Literal["modification", "misalignment"]


class KindsError(ValueError):
    """Nothing can be compared; the message is one sentence for the user."""


@dataclass(frozen=True)
class Effect:
    """What one rewording does, against the reference of its set."""

    set_name: str
    text: str
    delta: float  # log p(target), nats
    displacement: float  # ‖Δh_L‖ of the last token, model units
    flipped: bool  # another token is the likeliest; on a target of its own: it is the target after one of the two only
    alignment: Alignment  # as it came out: modification, if as many tokens as before and each changed in its place
    place: float  # of the first changed token: 0 is the beginning of the reference, 1 its end
    own_target: bool = False  # options in another order: each prompt is scored on the letter of the same answer

    def value(self, metric: Metric) -> float:
        if metric == "flip":
            return float(self.flipped)
        return abs(self.delta) if metric == "delta" else self.displacement


@dataclass(frozen=True)
class Shortfall:
    """Fewer rewordings of one set than asked for, and why."""

    set_name: str
    made: int
    asked: int
    reason: str


@dataclass(frozen=True)
class KindEffects:
    """All rewordings of one rule."""

    rule: str
    kind: str
    alignment: Alignment  # what the rule is meant to do
    effects: tuple[Effect, ...]
    shortfalls: tuple[Shortfall, ...] = ()

    @property
    def is_control(self) -> bool:
        return self.kind in CONTROL_KINDS

    def values(self, metric: Metric) -> tuple[float, ...]:
        return tuple(effect.value(metric) for effect in self.effects)

    def summary(self, metric: Metric) -> float | None:
        """The median; of flips the rate. None without effects."""
        return summary(self.effects, metric)


@dataclass(frozen=True)
class Group:
    """Rewordings with one kind of alignment, controls left out."""

    name: str
    effects: tuple[Effect, ...]

    def summary(self, metric: Metric) -> float | None:
        return summary(self.effects, metric)


@dataclass(frozen=True)
class RiskyKinds:
    """The kinds in order: paraphrasing rules by their median |Δ|, the largest first, then the controls likewise."""

    kinds: tuple[KindEffects, ...]
    sets: tuple[str, ...]  # that were compared
    asked: int  # rewordings per kind and set
    seed: int
    left_out: tuple[tuple[str, str], ...] = ()  # (set, why)

    @cached_property
    def meant(self) -> tuple[KindEffects, ...]:
        """Kinds that keep the meaning and have effects."""
        return tuple(kind for kind in self.kinds if kind.effects and not kind.is_control)

    @cached_property
    def controls(self) -> tuple[KindEffects, ...]:
        return tuple(kind for kind in self.kinds if kind.effects and kind.is_control)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Modification in the first and in the second half of the prompt, and misalignment."""
        effects = [effect for kind in self.meant for effect in kind.effects]
        early = [one for one in effects if one.alignment == "modification" and one.place < 0.5]
        late = [one for one in effects if one.alignment == "modification" and one.place >= 0.5]
        shifted = [one for one in effects if one.alignment == "misalignment"]
        return (
            Group("modification, early", tuple(early)),
            Group("modification, late", tuple(late)),
            Group("modification", (*early, *late)),
            Group("misalignment", tuple(shifted)),
        )


def summary(effects: Sequence[Effect], metric: Metric) -> float | None:
    """The median of an effect; of flips the rate. None without effects."""
    values = [effect.value(metric) for effect in effects]
    if not values:
        return None
    return float(np.mean(values) if metric == "flip" else np.median(values))


def ordered(kinds: Sequence[KindEffects], metric: Metric = "delta") -> tuple[KindEffects, ...]:
    """Controls last, kinds without effects last of all, else the largest summary first."""

    def place(kind: KindEffects) -> tuple[bool, bool, float]:
        value = kind.summary(metric)
        return value is None, kind.is_control, -(value or 0.0)

    return tuple(sorted(kinds, key=place))
