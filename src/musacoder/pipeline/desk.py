"""Where threads that ask and threads that judge hand work to each other."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from musacoder.runlog import Key


@dataclass(frozen=True)
class Ask:
    """Neighbouring answers to one prompt: `count` of them, from `index` on."""

    task: str
    index: int
    count: int
    turn: int


@dataclass(frozen=True)
class Waiting:
    """An answer that waits for a judge, and since when (Unix seconds)."""

    key: Key
    since: float


class Desk:
    """Two piles. Taking waits until there is something, or until there will never be anything again (None).

    `unfinished`: answers that still need something; whoever ends one says so. Repairs are asked before first prompts,
    so that what is begun is finished first.
    """

    def __init__(self, asks: Iterable[Ask], answers: Iterable[Key], *, unfinished: int, most_waiting: int) -> None:
        now = time.time()
        self._asks = deque(asks)
        self._answers = deque(Waiting(key, now) for key in answers)
        self._unfinished, self._most_waiting = unfinished, most_waiting
        self._changed = threading.Condition()
        self._asked = 0  # prompts that somebody asks now
        self.stopped = self.asking_ended = False

    def take_ask(self) -> Ask | None:
        """What to ask next; whoever takes it says when it is `asked`."""
        with self._changed:
            self._changed.wait_for(lambda: self._asks or self._is_over() or self.asking_ended)
            if self.stopped or self.asking_ended or not self._asks:
                return None
            self._asked += 1
            return self._asks.popleft()

    def asked(self) -> None:
        """All answers to one prompt are put, or none will be."""
        with self._changed:
            self._asked -= 1
            self._changed.notify_all()

    def take_answer(self) -> Waiting | None:
        """What to judge next."""
        with self._changed:
            self._changed.wait_for(lambda: self._answers or self._is_over())
            if self.stopped or not self._answers:
                return None
            waiting = self._answers.popleft()
            self._changed.notify_all()
            return waiting

    def put_repair(self, ask: Ask) -> None:
        """A next turn, which goes before all first ones."""
        with self._changed:
            self._asks.appendleft(ask)
            self._changed.notify_all()

    def put_answer(self, key: Key) -> None:
        """An answer to judge; waits while too many wait already."""
        waiting = Waiting(key, time.time())
        with self._changed:
            self._changed.wait_for(lambda: len(self._answers) < self._most_waiting or self.stopped)
            self._answers.append(waiting)
            self._changed.notify_all()

    def finish(self) -> None:
        """One answer needs nothing more."""
        with self._changed:
            self._unfinished -= 1
            self._changed.notify_all()

    def end_asking(self) -> None:
        """Hand out no more prompts; what is answered is judged to its end."""
        with self._changed:
            self.asking_ended = True
            self._changed.notify_all()

    def stop(self) -> None:
        """Hand out nothing more."""
        with self._changed:
            self.stopped = True
            self._changed.notify_all()

    def _is_over(self) -> bool:
        """Whether neither pile will ever grow again."""
        return self.stopped or self._unfinished == 0 or (self.asking_ended and self._asked == 0)
