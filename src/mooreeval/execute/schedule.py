"""How the trials differ: on a device not at all, on the simulator by the order in which threads run.

A missing barrier shows in forward order or in reverse order, not always in both; watching every access finds what no
order shows. So the first trial is watched, the next ones run in the other orders, and the last is watched in a random
one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

PLAIN = "plain"  # a trial on the inputs that the task makes


@dataclass(frozen=True)
class Schedule:
    """One trial's order of blocks and threads; `check` watches every memory access, up to `check_budget` a launch."""

    order: str
    check: bool
    seed: int
    check_budget: int

    def __str__(self) -> str:
        return f"checked {self.order}" if self.check else self.order

    def to_json(self, output_bytes: int = 0) -> dict[str, Any]:
        del output_bytes  # fresh memory of the simulator's is filled anyway
        return asdict(self)


@dataclass(frozen=True)
class DeviceSchedule:
    """A trial on a real device, which orders threads as it likes; its fresh memory is to be filled first."""

    def __str__(self) -> str:
        return "device"

    def to_json(self, output_bytes: int) -> dict[str, Any]:
        return {"poison_bytes": 2 * output_bytes + (64 << 20)}


_PLAN = (("forward", True), ("reverse", False), ("random", False), ("forward", False))


def schedules(seeds: list[int], check_budget: int) -> list[Schedule]:
    """One schedule for each seed; the last of several is watched too, with half the budget."""
    plan = [_PLAN[i % len(_PLAN)] for i in range(len(seeds))]
    budgets = [check_budget] * len(seeds)
    if len(plan) > 2:
        plan[-1], budgets[-1] = ("random", True), max(1, check_budget // 2)
    return [
        Schedule(order, check and (i == 0 or i == len(seeds) - 1), seed, budget)
        for i, ((order, check), seed, budget) in enumerate(zip(plan, seeds, budgets, strict=True))
    ]


PlannedTrial = tuple[Schedule | DeviceSchedule, str]  # how it runs, and on which inputs


def plan(
    on_device: bool, trials: int, variations: Sequence[str], seed: Callable[[int], int], check_budget: int
) -> list[PlannedTrial]:
    """The trials on the task's own inputs, and after them one for each variation of the inputs."""
    if on_device:
        return [(DeviceSchedule(), name) for name in (*([PLAIN] * trials), *variations)]
    own = [(schedule, PLAIN) for schedule in schedules([seed(k) for k in range(trials)], check_budget)]
    return [*own, *((Schedule("forward", False, seed(trials + k), 0), name) for k, name in enumerate(variations))]
