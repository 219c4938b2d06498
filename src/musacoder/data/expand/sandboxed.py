"""Children of expansion and diagnosis: started in the judge's sandbox, asked, lost, told of in one line. No torch."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from mooreeval.config import VerifyConfig
from mooreeval.errors import NotJudged
from mooreeval.execute.asking import last_line
from mooreeval.execute.children import ChildEnded, take_launcher
from musacoder.data.expand.records import Reason

ROLE = "musacoder.data.expand.inside.role:ExpansionChild"


class ChildFailed(Exception):
    """What was asked of a child has no answer, and it is the fault of the code that it was given."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Sandboxed:
    """Asks a new child for each question. A context manager: leaving it ends all of them; safe for several threads."""

    def __init__(self, config: VerifyConfig | None = None) -> None:
        memory = (config or VerifyConfig()).memory
        self._limits = {
            "data_bytes": memory.child_mib << 20,
            "disk_bytes": memory.disk_mib << 20,
            "file_bytes": memory.disk_mib << 20,
            "log_bytes": memory.log_mib << 20,
            "tasks": memory.tasks,
            "core_bytes": 0,
        }
        self._launcher = take_launcher()

    def ask(self, op: str, fields: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The fields of the answer.

        Raises:
            ChildFailed: the code hangs, ends its process, or is a task that fails.
            NotJudged: the child could not be started.
        """
        with self._launcher.spawn(ROLE, self._limits) as child:
            try:
                message = child.ask(op, fields, {}, seconds)
            except ChildEnded as end:
                raise _failed(end, seconds, child.log_tail()) from None
        if message.op == "task_error":
            raise ChildFailed(Reason.FAILS_TO_LOAD, str(message.fields.get("message"))[:500])
        if message.op != op:
            raise NotJudged(f"a child answered {message.op} to {op}")
        return message.fields

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every child; idempotent."""
        self._launcher.close()


def _failed(end: ChildEnded, seconds: float, log: str) -> ChildFailed:
    if end.timed_out:
        return ChildFailed(Reason.HANGS, f"it did not come to an end within {seconds:g} s")
    code = end.exit_code
    how = f"was killed by signal {-code}" if code is not None and code < 0 else f"exited with code {code}"
    return ChildFailed(Reason.ENDS_PROCESS, f"its process {how}: {last_line(log)}")
