"""Which sizes to lower to reach a cost, by power laws: cost ~ size ** exponent, one for each part of a cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from mooreeval.execute.fake_run import Cost

Key = TypeVar("Key")

_PARTS = ("elements", "flops", "bytes")
_STEP = 0.6  # a step goes to at most this part of the value
_NO_EFFECT = 0.02  # an exponent below this


def within(cost: Cost, aim: Cost) -> bool:
    """Whether no part of the cost is above the aim."""
    return not excess(cost, aim)


def excess(cost: Cost, aim: Cost) -> list[str]:
    """The parts of the cost that are above the aim."""
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
    options: Callable[[dict[Key, int]], list[int]]  # its lower values, descending, given all current ones


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
    while levers and (above := excess(plan.cost, aim)):
        useful = [lever for lever in levers if any(getattr(lever.effect, part) >= _NO_EFFECT for part in above)]
        if not useful:
            break
        lever = max(useful, key=lambda lever: plan.values[lever.key] / lever.floor)
        options = lever.options(plan.values)
        if not options:
            levers.remove(lever)
            continue
        lower = _step(plan, lever, options, aim)
        plan.cost = _predicted(plan, lever, lower)
        plan.values[lever.key] = lower
        plan.moved.add(lever.key)
    return plan


def _step(plan: Plan[Key], lever: Lever[Key], options: list[int], aim: Cost) -> int:
    """About half the value; where that is more than enough, the largest value that is enough."""
    far = next((value for value in options if value <= _STEP * plan.values[lever.key]), options[-1])
    enough = [value for value in options if value >= far and within(_predicted(plan, lever, value), aim)]
    return max(enough, default=far)


def _predicted(plan: Plan[Key], lever: Lever[Key], value: int) -> Cost:
    return lever.effect.scaled(plan.cost, value / plan.values[lever.key])
