"""Where a step's groups come from: tasks in a fixed order, some of them repair tasks, rolled out now or ahead.

    TaskOrder ──> RetryBuffer.draw ──> Driver.groups ──> RetryBuffer.offer        batch by batch

`Experience` rolls a batch out when it is asked for. `Ahead` has the next ones under way meanwhile, in threads of their
own, so that sampling, judging and training go on at the same time; how old the policy that sampled a batch may be is
bounded by how many those are. Either way a batch draws from the buffer what batches a fixed number before it offered:
every process decides the same, and so does a run of the first kind that is resumed.
"""

from __future__ import annotations

import functools
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mooreeval.errors import NotJudged
from mooreeval.task import Task
from musacoder.rollout.driver import Driver, RolloutFigures
from musacoder.rollout.trajectory import Group, GroupAsk
from musacoder.train.retry_buffer import Failure, RetryBuffer

Offers = list[tuple[Any, ...]]
Gather = Callable[[Offers], Offers]  # of all processes, in the order of their ranks
_RESERVE = 1 << 40  # places of tasks that replace dropped groups, beyond those of batches


class TaskOrder:
    """Tasks one after another, in an order of their own each time all have had their turn."""

    def __init__(self, tasks: Sequence[Task], seed: int) -> None:
        if not tasks:
            raise ValueError("there is no task to train on")
        self.by_hash = {task.task_hash: task for task in tasks}
        self._hashes, self._seed = sorted(self.by_hash), seed
        self._order = functools.lru_cache(maxsize=4)(self._drawn)  # of batches, and of what replaces dropped groups

    def at(self, place: int) -> Task:
        """The task of that place, whatever was asked before."""
        epoch, index = divmod(place, len(self._hashes))
        return self.by_hash[self._order(epoch)[index]]

    def _drawn(self, epoch: int) -> list[str]:
        return random.Random(f"{self._seed} {epoch}").sample(self._hashes, len(self._hashes))


@dataclass(frozen=True)
class Ranks:
    """This process among all. `gather` is called by every process for the same batches in the same order."""

    rank: int
    world: int
    gather: Gather


ALONE = Ranks(0, 1, lambda mine: mine)


@dataclass(frozen=True)
class Batch:
    """This process's groups, None for those that were dropped, and what they took."""

    groups: Sequence[Group | None]
    figures: RolloutFigures


class Experience:
    """Batches that are rolled out when they are asked for."""

    lag = 1  # a batch draws what batches at least so many before it have offered

    def __init__(
        self, driver: Callable[[], Driver], order: TaskOrder, buffer: RetryBuffer, groups: int, ranks: Ranks = ALONE
    ) -> None:
        """
        Args:
            driver: makes one for each batch; they share what samples and what judges.
            groups: of a batch, in each process.
        """
        self.buffer = buffer
        self._driver, self._order, self._groups, self._ranks = driver, order, groups, ranks
        self._rolled: dict[int, Batch] = {}  # batches whose offers were not taken yet

    def batch(self, number: int) -> Batch:
        """The groups of that batch; numbers follow each other."""
        self._rolled[number] = self._roll(number, self._asks(number))
        return self._rolled[number]

    def settle(self) -> None:
        """Take all offers: a checkpoint holds the buffer as the next batch finds it."""
        self._take_offers(max(self._rolled, default=0))

    def load(self, buffer_file: Path) -> None:
        """Go on with a buffer that was saved. Raises UsageError where the file holds none."""
        self.buffer = RetryBuffer.load(buffer_file, self.buffer.config)

    def close(self) -> None:
        """Idempotent."""

    def _asks(self, number: int) -> list[GroupAsk]:
        """The tasks of a batch, some of their places taken by failures that come back."""
        self._take_offers(number - self.lag)
        groups, ranks = self._groups, self._ranks
        drawn = self.buffer.draw(number, groups * ranks.world)
        mine = range(ranks.rank * groups, (ranks.rank + 1) * groups)
        return [self._ask(drawn[place], number * groups * ranks.world + place) for place in mine]

    def _ask(self, failure: Failure | None, place: int) -> GroupAsk:
        if failure is None or (task := self._order.by_hash.get(failure.task_hash)) is None:
            return GroupAsk(self._order.at(place))  # a failure of a task that is no longer trained on is let go
        return GroupAsk(task, failure)

    def _roll(self, number: int, asks: Sequence[GroupAsk]) -> Batch:
        driver = self._driver()
        return Batch(driver.groups(asks, fresh=self._fresh(number, driver)), driver.figures)

    def _fresh(self, number: int, driver: Driver) -> Callable[[], GroupAsk]:
        most = self._groups * driver.config.replacements
        first = _RESERVE + (number * self._ranks.world + self._ranks.rank) * most
        places: Iterator[int] = iter(range(first, first + most))
        return lambda: GroupAsk(self._order.at(next(places)))

    def _take_offers(self, last: int) -> None:
        """Of all batches up to that one, in their order, from all processes."""
        for number in sorted(n for n in self._rolled if n <= last):
            groups = self._rolled.pop(number).groups
            mine = [(g.ask.task.task_hash, g.attempts(), g.ask.repaired) for g in groups if g is not None]
            for task_hash, attempts, repaired in self._ranks.gather(mine):
                self.buffer.offer(task_hash, attempts, number, repaired)


class Ahead(Experience):
    """Batches of which the next ones are rolled out by threads while the trainer works on this one."""

    def __init__(
        self,
        driver: Callable[[], Driver],
        order: TaskOrder,
        buffer: RetryBuffer,
        groups: int,
        ahead: int,
        ranks: Ranks = ALONE,
    ) -> None:
        """
        Args:
            ahead: batches that are under way at once beyond the one that is trained on. The policy that samples a batch
                is at most so many batches of optimisation steps older than the one that trains on it.
        """
        super().__init__(driver, order, buffer, groups, ranks)
        self.lag = ahead + 1
        self._under_way: dict[int, Future[Batch]] = {}
        self._threads = ThreadPoolExecutor(ahead + 1, thread_name_prefix="rollout")
        self._closed = threading.Event()

    def batch(self, number: int) -> Batch:
        """That batch, once it is there; those that may be sampled by now are begun first."""
        newest = max(self._under_way, default=number - 1)
        for following in range(newest + 1, number + self.lag):
            # Asks are made here, in the order of batches: only the rolling out is left to threads.
            self._under_way[following] = self._threads.submit(self._roll, following, self._asks(following))
        self._rolled[number] = self._under_way.pop(number).result()
        return self._rolled[number]

    def settle(self) -> None:
        """Nothing: batches under way have drawn already, and go on without what this one offers."""

    def _roll(self, number: int, asks: Sequence[GroupAsk]) -> Batch:
        if self._closed.is_set():
            raise NotJudged("the run has ended")
        return super()._roll(number, asks)

    def close(self) -> None:
        self._closed.set()
        self._threads.shutdown(wait=False, cancel_futures=True)
