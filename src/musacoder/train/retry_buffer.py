"""Buffered Dynamic Retry (MusaCoder, arXiv 2606.04847): groups that failed as a whole come back as repair tasks.

A group whose answers all failed has equal rewards and teaches nothing. Its task, its best failed code and what the
judge said of it wait here, first in, first out; with a small probability a group of the next batch is asked to repair
one of them instead of being given a fresh task.

Every process holds the same buffer and makes the same decisions: all of it follows from the configuration and from
what was offered, in order. The caller offers what it has gathered from all processes, in the order of the groups.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, deque
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from mooreeval.config import Count, Whole
from mooreeval.errors import UsageError
from mooreeval.hashing import content_hash
from mooreeval.verdict import Record, Status, Verdict
from musacoder.runlog.whole import write_whole

MOST_REENTRIES = 1


class RetryConfig(Record):
    """The paper names neither number; these keep repair tasks a tenth of what is trained on."""

    capacity: Whole = Field(256, description="Repair tasks that wait; the oldest goes first. 0: no retries.")
    probability: Annotated[float, Field(ge=0, le=1)] = Field(
        0.1, description="That a group is a repair task while some wait."
    )
    oldest: Count = Field(200, description="Steps after which a failure is too old to be repaired.")
    seed: Whole = Field(0, description="What decides which groups are repair tasks.")


class Failure(Record):
    """A group that failed, as a repair task."""

    schema_version: Literal[1] = 1
    task_hash: str
    code: str  # of the failed answer with the highest reward
    verdict: Verdict  # on it; the prompt's template may name its status
    feedback: str
    reward: float
    step: int  # at which it entered
    reentries: int = 0  # how often a repair of it has failed as a whole

    @property
    def key(self) -> str:
        """What makes two failures one: the task and the code."""
        return content_hash([self.task_hash, self.code])


class Attempt(Record):
    """One turn of one trajectory of a group. `code` is None where the answer held none."""

    code: str | None
    verdict: Verdict
    feedback: str
    reward: float

    @property
    def passed(self) -> bool:
        """Right and legal: q = 1."""
        return self.verdict.status is Status.CORRECT


class Entry(StrEnum):
    """What became of a group that was offered."""

    ENTERED = "entered"
    SOLVED = "solved"  # a turn passed, so the group has something to learn from
    NO_CODE = "no_code"  # no answer held code that could be repaired
    KNOWN = "known"  # the same code of the same task waits already
    GIVEN_UP = "given_up"  # it was a repair task that failed as a whole before
    OFF = "off"  # the buffer's capacity is 0


class RetryBuffer:
    """Repair tasks that wait. Not safe for threads."""

    def __init__(self, config: RetryConfig) -> None:
        self.config = config
        self.counts: Counter[str] = Counter()  # of entries by kind, and of those drawn, dropped as old, pushed out
        self._waiting: deque[Failure] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def offer(self, task_hash: str, attempts: Sequence[Attempt], step: int, repaired: Failure | None = None) -> Entry:
        """Put a group in if it failed as a whole.

        Args:
            attempts: every judged turn of every trajectory of the group.
            step: the training step that sampled it.
            repaired: the failure that its prompt asked to repair, if it was a repair task.
        """
        entry = self._entry(task_hash, attempts, step, repaired)
        self.counts[entry] += 1
        return entry

    def _entry(self, task_hash: str, attempts: Sequence[Attempt], step: int, repaired: Failure | None) -> Entry:
        if any(attempt.passed for attempt in attempts):
            return Entry.SOLVED
        if not self.config.capacity:
            return Entry.OFF
        with_code = [attempt for attempt in attempts if attempt.code is not None]
        if not with_code:
            return Entry.NO_CODE
        reentries = 0 if repaired is None else repaired.reentries + 1
        if reentries > MOST_REENTRIES:
            return Entry.GIVEN_UP
        best = max(with_code, key=lambda attempt: attempt.reward)  # the first of equals
        failure = Failure(
            task_hash=task_hash,
            code=best.code or "",
            verdict=best.verdict,
            feedback=best.feedback,
            reward=best.reward,
            step=step,
            reentries=reentries,
        )
        if any(failure.key == other.key for other in self._waiting):
            return Entry.KNOWN
        self._put(failure)
        return Entry.ENTERED

    def _put(self, failure: Failure) -> None:
        self._waiting.append(failure)
        while len(self._waiting) > self.config.capacity:
            self._waiting.popleft()
            self.counts["pushed_out"] += 1

    def draw(self, step: int, groups: int) -> list[Failure | None]:
        """For each group of a batch the failure that it repairs, or None where it keeps its fresh task.

        Whole groups are drawn, never single answers. What is drawn leaves the buffer.
        """
        self._forget_old(step)
        drawn = [self._waiting.popleft() if self._is_repair(step, group) else None for group in range(groups)]
        self.counts["drawn"] += sum(failure is not None for failure in drawn)
        return drawn

    def _is_repair(self, step: int, group: int) -> bool:
        return bool(self._waiting) and _uniform(self.config.seed, step, group) < self.config.probability

    def _forget_old(self, step: int) -> None:
        young = [failure for failure in self._waiting if step - failure.step <= self.config.oldest]
        self.counts["too_old"] += len(self._waiting) - len(young)
        self._waiting = deque(young)

    def state(self) -> dict[str, object]:
        """All that a resumed run needs besides the configuration, as plain data."""
        return {"waiting": [failure.model_dump(mode="json") for failure in self._waiting], "counts": dict(self.counts)}

    def save(self, path: Path) -> None:
        """Replace the file in one step. Raises UsageError where it can't be written."""
        write_whole(path, json.dumps(self.state()))

    @classmethod
    def load(cls, path: Path, config: RetryConfig) -> RetryBuffer:
        """The buffer that was saved. Raises UsageError, one line, where the file is missing or is none."""
        buffer = cls(config)
        try:
            state = json.loads(path.read_text(encoding="utf-8"))
            failures = [Failure.model_validate(item) for item in state["waiting"]]
            buffer.counts.update({str(name): int(count) for name, count in state["counts"].items()})
        except OSError as error:
            raise UsageError(f"cannot read {path}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, AttributeError, ValidationError):
            raise UsageError(f"{path} holds no retry buffer") from None
        for failure in failures:
            buffer._put(failure)
        return buffer


def _uniform(*key: int) -> float:
    """A number in [0, 1) that depends on the key alone, so that every process and every resumed run draws the same."""
    digest = hashlib.sha256(json.dumps(key).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
