"""The process of a task that is examined: asked, lost, started again. No torch."""

from __future__ import annotations

import contextlib
from types import TracebackType
from typing import Any, Self

from mooreeval.config import VerifyConfig
from mooreeval.execute.asking import how_the_task_ended
from mooreeval.execute.children import Child, ChildEnded
from mooreeval.execute.processes import Processes
from mooreeval.execute.wire import Message
from mooreeval.task import Task

MOST_RESTARTS = 4  # after as many a run that ends its process is not tried any more
_SHORTAGE = ("can't allocate memory", "out of memory", "MemoryError", "OutOfMemory", "not enough memory")


class Refused(Exception):
    """The task can't be judged by; `kind` as in `admission.Reason`."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class TaskProcess:
    """Runs a task. What has to work raises `Refused` where it does not; what need not work is None then.

    A context manager: leaving it ends the process.
    """

    def __init__(self, task: Task, config: VerifyConfig, processes: Processes, fields: dict[str, Any]) -> None:
        self._task, self._config, self._processes = task, config, processes
        self._fields = fields  # of `prepare`
        self._trial: dict[str, Any] | None = None
        self._restarts = 0
        self._child: Child = self._started()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.close()

    def prepare(self) -> dict[str, Any]:
        """What was reduced; from now on the reduced task is run."""
        answer = self.ask("prepare", self._fields).fields
        self._fields = {**self._fields, "code": answer["code"], "budget": None}
        return answer

    def trial(self, seed: int, variation: str) -> Message:
        """A run on fresh inputs, which later variants refer to."""
        self._trial = {"seed": seed, "variation": variation}
        return self.ask("trial", self._trial)

    def ask(self, op: str, fields: dict[str, Any]) -> Message:
        """The answer; Refused where the task raises, takes too long or takes its process with it."""
        seconds = self._config.deadlines.reference_seconds
        try:
            message = self._child.ask(op, fields, {}, seconds)
        except ChildEnded as end:
            told = how_the_task_ended(self._task.task_id, end, seconds, self._child.log_tail())
            raise Refused("too_slow" if end.timed_out else _kind(told), told) from None
        if message.op == "task_error":
            raise Refused(_kind(message.fields["message"]), message.fields["message"])
        return message

    def variant(self, op: str, fields: dict[str, Any]) -> Message | None:
        """The answer with a run's outputs; None where the run is not possible, or ends the process."""
        if self._restarts > MOST_RESTARTS:
            return None
        try:
            message = self._child.ask(op, fields, {}, self._config.admission.variant_seconds)
        except ChildEnded:
            self.restart()
            return None
        return message if message.op != "task_error" and message.fields["made"] else None

    def restart(self) -> None:
        """A new process in the state of the last trial."""
        self._child.close()
        self._restarts += 1
        self._child = self._started()
        self.ask("prepare", self._fields)
        if self._trial is not None:
            self.ask("trial", self._trial)

    def restart_plain(self) -> None:
        """A new process without a trial: the last one was what ended or failed."""
        self._trial = None
        self.restart()

    def _started(self) -> Child:
        child = self._processes.spawn("admission")
        with contextlib.ExitStack() as stack:
            stack.callback(child.close)
            if self._processes.on_device:
                self._processes.begin_start(child)
                self._processes.finish_start(child)
            stack.pop_all()
        return child


def _kind(told: str) -> str:
    return "does_not_fit" if any(word in told for word in _SHORTAGE) else "does_not_run"
