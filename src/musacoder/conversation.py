"""The prompts of a run: what a model is asked first, and what after each verdict."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from mooreeval.errors import NotJudged, TaskError
from mooreeval.task import Task
from mooreeval.task_metadata import TaskMetadata
from mooreeval.verdict import Status
from mooreeval.verify import LocalVerifier
from musacoder.models import Model
from musacoder.prompts import Prompt, PromptConfig, Turn, build_first, build_optimise, build_repair, target_of
from musacoder.runlog import Judged, Sample
from musacoder.suites import SuiteTask


class Conversation:
    """Prompts for the backend that judges, within the model's count of tokens. Safe for several threads."""

    def __init__(self, config: PromptConfig, model: Model, verifier: LocalVerifier) -> None:
        self._config, self._count, self._verifier = config, model.count_tokens, verifier
        self._target = target_of(verifier.config.backend, device=verifier.device_name, policy=verifier.config.policy)
        self._metadata: dict[str, TaskMetadata | None] = {}
        self._describing: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    def first(self, task: SuiteTask) -> Prompt:
        """The first turn. Raises PromptTooLong, or UsageError for a template that is wrong."""
        return build_first(task.task, self._config, self._target, self._described(task.task), count_tokens=self._count)

    def next(self, task: SuiteTask, history: Sequence[tuple[Sample, Judged]]) -> Prompt:
        """The turn after the last verdict: a repair, or where that is right, a faster version. Raises as `first`."""
        turns = [turn_of(sample, judged) for sample, judged in history]
        build = build_optimise if turns[-1].verdict.status is Status.CORRECT else build_repair
        return build(task.task, turns, self._config, self._target, self._described(task.task), count_tokens=self._count)

    def _described(self, task: Task) -> TaskMetadata | None:
        """What its tensors look like, once for each task; None where that can't be told or is not wanted."""
        if not self._config.shows_metadata:
            return None
        with self._guard:
            lock = self._describing.setdefault(task.task_hash, threading.Lock())
        with lock:
            if task.task_hash not in self._metadata:
                self._metadata[task.task_hash] = self._asked(task)
            return self._metadata[task.task_hash]

    def _asked(self, task: Task) -> TaskMetadata | None:
        try:
            return self._verifier.describe(task)
        except TaskError:
            return None  # its answers are not judged either, and say why


def turn_of(sample: Sample, judged: Judged) -> Turn:
    """A judged answer as the next prompt shows it. NotJudged where there is no verdict to show."""
    if judged.verdict is None:
        raise NotJudged(f"there is no verdict on {sample.key} to go on from")
    return Turn(sample.answer or "", judged.verdict, judged.feedback or "")
