"""Which sizes to lower to reach a cost, by power laws: cost ~ size ** exponent, one exponent for each part of a cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from mooreeval.execute.fake_run import Cost

Key = TypeVar("Key")

_PARTS = ("elements", "flops", "bytes")
_NO_EFFECT = 0.02  # an exponent below this


def within(cost: Cost, aim: Cost) -> bool:
    """Whether no part of the cost is above the aim."""
    return not _excess(cost, aim)


def _excess(cost: Cost, aim: Cost) -> list[str]:
    return [part for part in _PARTS if getattr(cost, part) > getattr(aim, part)]


@dataclass(frozen=True)
class Exponents:
    """How the parts of a cost grow with one size."""

    elements: float
    flops: float
    bytes: float

    @property
    def without_effect(self) -> bool:
        """Whether the size changes nothing."""
        return max(self.elements, self.flops, self.bytes) < _NO_EFFECT

    def scaled(self, cost: Cost, ratio: float) -> Cost:
        """The cost after the size was multiplied by `ratio`."""
        return Cost(*(int(getattr(cost, part) * ratio ** getattr(self, part)) for part in _PARTS))


def exponents(high: Cost, low: Cost, ratio: float) -> Exponents:
    """From the costs at two values of one size, `ratio` > 1 apart."""
    logs = (math.log(max(getattr(high, part), 1) / max(getattr(low, part), 1)) for part in _PARTS)
    return Exponents(*(value / math.log(ratio) for value in logs))


@dataclass(frozen=True)
class Lever(Generic[Key]):
    """A size that may be lowered, as the plan sees it."""

    key: Key
    floor: int
    effect: Exponents
    lower: Callable[[dict[Key, int]], int | None]  # its next lower value, given all current ones


@dataclass
class Plan(Generic[Key]):
    """Values that should reach the aim, and the cost that they should have."""

    values: dict[Key, int]
    cost: Cost
    moved: set[Key] = field(default_factory=set)


def planned(values: dict[Key, int], cost: Cost, aim: Cost, levers: list[Lever[Key]]) -> Plan[Key]:
    """Lowers, one step at a time, the size that is farthest above its floor, until the predicted cost fits."""
    plan = Plan(dict(values), cost)
    levers = list(levers)
    while levers and (excess := _excess(plan.cost, aim)):
        useful = [lever for lever in levers if any(getattr(lever.effect, part) >= _NO_EFFECT for part in excess)]
        if not useful:
            break
        lever = max(useful, key=lambda lever: plan.values[lever.key] / lever.floor)
        lower = lever.lower(plan.values)
        if lower is None:
            levers.remove(lever)
            continue
        plan.cost = lever.effect.scaled(plan.cost, lower / plan.values[lever.key])
        plan.values[lever.key] = lower
        plan.moved.add(lever.key)
    return plan
