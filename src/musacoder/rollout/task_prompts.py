"""The prompts of rollouts: those of `bench` and `generate`, for the same configuration. No torch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from mooreeval.errors import NotJudged, TaskError
from mooreeval.task import Task
from mooreeval.task_metadata import TaskMetadata
from musacoder.models.tokens import CountTokens
from musacoder.models.types import Message
from musacoder.prompts import PromptConfig, Target, Turn, build_first, build_repair

Describe = Callable[[Task], TaskMetadata]


class TaskPrompts:
    """Prompts within the model's count of tokens; each task's tensors are described once. Safe for threads."""

    def __init__(self, config: PromptConfig, target: Target, count_tokens: CountTokens, describe: Describe) -> None:
        self._config, self._target, self._count, self._describe = config, target, count_tokens, describe
        self._metadata: dict[str, TaskMetadata | None] = {}
        self._guard = threading.Lock()

    def first(self, task: Task) -> tuple[Message, ...]:
        """The first turn. Raises PromptTooLong."""
        return build_first(task, self._config, self._target, self._described(task), count_tokens=self._count).messages

    def repair(self, task: Task, history: Sequence[Turn]) -> tuple[Message, ...]:
        """The turn after a last answer that is not right. Raises PromptTooLong."""
        return build_repair(
            task, history, self._config, self._target, self._described(task), count_tokens=self._count
        ).messages

    def _described(self, task: Task) -> TaskMetadata | None:
        if not self._config.metadata:
            return None
        with self._guard:
            if task.task_hash not in self._metadata:
                self._metadata[task.task_hash] = self._asked(task)
            return self._metadata[task.task_hash]

    def _asked(self, task: Task) -> TaskMetadata | None:
        try:
            return self._describe(task)
        except (TaskError, NotJudged):
            return None  # a task that does not run has no answer that is judged, and the verdict says why
