"""Models, judges and prompts that do what a test says, behind the same seams as the real ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.cli import TASK, candidate
from support.runs import manifest
from support.verdicts import verdict

from mooreeval import errors
from mooreeval.candidate import NoCandidate
from mooreeval.config import VerifyConfig
from mooreeval.task import Task, make_task
from mooreeval.verdict import Status, Verdict
from musacoder.config import SamplingConfig, WorkConfig
from musacoder.models import Completion, Failure, FailureKind, Message, Sampling
from musacoder.pipeline import Ledger, Pipeline
from musacoder.pipeline.pipeline import Parts
from musacoder.runlog import Judged, RunFolder, Sample, TaskEntry
from musacoder.suites import SuiteTask


def tasks(count: int, level: str | None = None) -> list[SuiteTask]:
    """Small tasks, all different."""
    return [SuiteTask(make_task(f"task{i}", f"# task {i}\n{TASK}"), level) for i in range(count)]


def answer(first_line: str) -> str:
    """What a model says whose candidate begins with that line, such as "verdict: correct"."""
    return f"Here it is.\n\n```python\n{candidate(first_line)}```\n"


@dataclass(frozen=True)
class PlainPrompt:
    messages: tuple[Message, ...]
    shortened: tuple[str, ...] = ()


class PlainPrompts:
    """The task's source, then each answer with its feedback."""

    def first(self, task: SuiteTask) -> PlainPrompt:
        return PlainPrompt((Message("user", task.task.code),))

    def next(self, task: SuiteTask, history: Sequence[tuple[Sample, Judged]]) -> PlainPrompt:
        said = [Message("user", task.task.code)]
        for sample, judged in history:
            said += [Message("assistant", sample.answer or ""), Message("user", judged.feedback or "")]
        return PlainPrompt(tuple(said))


Answer = str | Failure


@dataclass
class ToldModel:
    """Answers with what `script(messages, seed)` says; remembers what it was asked."""

    script: Callable[[Sequence[Message], int], Answer]
    name: str = "told"
    seconds: float = 0.0
    asked: list[tuple[int, int]] = field(default_factory=list)  # n and seed
    closed: bool = False

    def sample(
        self, messages: Sequence[Message], n: int, sampling: Sampling, *, on_completion: Any = None
    ) -> list[Completion]:
        seed = sampling.seed or 0
        self.asked.append((n, seed))
        found = []
        for i in range(n):
            time.sleep(self.seconds)
            said = Failure(FailureKind.CLOSED, "closed") if self.closed else self.script(messages, seed + i)
            is_failure = isinstance(said, Failure)
            found.append(Completion(failure=said) if is_failure else Completion(said, finish_reason="stop"))
            if on_completion:
                on_completion(i, found[-1])
        return found

    def count_tokens(self, messages: Sequence[Message]) -> int:
        return sum(len(m.content) for m in messages)

    def close(self) -> None:
        self.closed = True

    def __enter__(self) -> ToldModel:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


@dataclass
class ToldJudge:
    """Judges by the candidate's first line: "# verdict: STATUS" or "# raise: NAME TEXT"."""

    seconds: float = 0.0
    closed: bool = False
    at_once: int = 0
    most_at_once: int = 0

    def verify(self, task: Task, candidate: Any, progress: Any = None) -> Verdict:
        del progress
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            time.sleep(self.seconds)
            if self.closed:
                raise errors.NotJudged("the judge was closed")
            return self._said(task, candidate)
        finally:
            self.at_once -= 1

    def _said(self, task: Task, candidate: Any) -> Verdict:
        hashes = {"task_hash": task.task_hash, "candidate_hash": candidate.candidate_hash, "evidence": "emulation"}
        if isinstance(candidate, NoCandidate):
            return verdict(Status.NO_CANDIDATE, **{**hashes, "evidence": None})
        words = candidate.code.split("\n", 1)[0].split(maxsplit=3)
        if words[1] == "raise:":
            raise getattr(errors, words[2], RuntimeError)(words[3])
        return verdict(Status(words[2]), **hashes)

    def close(self) -> None:
        self.closed = True


@dataclass
class Writing:
    """A run folder with a model and a judge, for one pipeline after the other."""

    folder: Path
    model: ToldModel
    judge: ToldJudge = field(default_factory=ToldJudge)
    tasks: list[SuiteTask] = field(default_factory=lambda: tasks(3))
    samples: int = 2
    turns: int = 1
    work: WorkConfig = field(default_factory=lambda: WorkConfig(asking=2, judging=2))
    told: list[Any] = field(default_factory=list)

    def opened(self) -> RunFolder:
        entries = tuple(TaskEntry(name=t.task.task_id, hash=t.task.task_hash, level=t.level) for t in self.tasks)
        made = manifest(tasks=entries, samples=self.samples, turns=self.turns)
        begin = RunFolder.resume if RunFolder.exists(self.folder) else RunFolder.create
        return begin(self.folder, made, {"samples": self.samples})

    def complete(self, on_told: Callable[[Any], None] | None = None, *, again: bool = False) -> RunFolder:
        """Complete the run; the folder, to read."""
        with self.opened() as run:
            ledger = Ledger(run)
            if again:
                ledger.forget_failures()
            pipeline = Pipeline(self._parts(run), self.tasks, ledger)
            pipeline.complete(self.samples, self.turns, on_told or self.told.append)
        return RunFolder.open(self.folder)

    def _parts(self, run: RunFolder) -> Parts:
        config = VerifyConfig()
        return Parts(run, self.model, self.judge, PlainPrompts(), SamplingConfig(), config, self.work, self._close)

    def _close(self) -> None:
        self.model.close()
        self.judge.close()
