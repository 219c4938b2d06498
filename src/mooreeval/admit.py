"""Admission: `Admitter.admit(task) -> Admission`. A task proves that it can tell right from wrong before it is used.

    Admitter
      ├── Launcher ── the task's process, impostor child        execute/children.py
      ├── cache ── admissions by content                        admission.py
      └── Examination: trials, impostors, variations            execute/examination.py

A task is hostile code and runs only in its own process, in the sandbox. Whatever is wrong with it is an outcome; a
failure of the judge raises NotJudged after one more try where that may help. Safe to call from several threads.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mooreeval.admission import Admission, Outcome, admission_key, keep_admission, known_admission
from mooreeval.backends import choose_backend
from mooreeval.cache import CLOSED, FileCache
from mooreeval.config import VerifyConfig
from mooreeval.errors import NotJudged, TaskError, Transient
from mooreeval.execute.children import take_launcher
from mooreeval.execute.examination import Examination
from mooreeval.execute.seeds import new_secret
from mooreeval.many import as_completed
from mooreeval.space import require_space
from mooreeval.task import Task
from mooreeval.verify import SCRATCH_REMEDY, TRIES, one_line, told_where_space_ends, versions

Progress = Callable[[str], None]
_DEPEND_ON_THE_MACHINE = {"too_slow", "does_not_fit"}  # refusals that are not kept


@dataclass(frozen=True)
class Admitted:
    """One of many: an admission, or the reason why there is none."""

    index: int
    admission: Admission | None
    error: NotJudged | TaskError | None = None


class Admitter:
    """Admits tasks on this machine. A context manager: leaving it ends every process."""

    def __init__(self, config: VerifyConfig | None = None) -> None:
        config = config or VerifyConfig()
        self.config = config.with_backend(choose_backend(config.backend))
        self.secret = self.config.seed or new_secret()
        self._closed = threading.Event()
        self._toolchain: Any = _toolchain(self.config)
        with told_where_space_ends(Path(tempfile.gettempdir())):
            self._launcher = take_launcher()
        self._launcher.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every process; idempotent."""
        self._closed.set()  # first: what is lost now is not tried again
        self._toolchain.close()
        self._launcher.close()

    def known(self, task: Task) -> Admission | None:
        """The admission that is kept for this task, under this configuration, seed and these versions, if any."""
        found = known_admission(self._toolchain.cache, self._key(task))
        if found is None or self.config.seed not in (None, found.seed):
            return None
        return found.model_copy(update={"task_id": task.task_id})  # the same code under two names is one task

    def admit(self, task: Task, progress: Progress | None = None, *, again: bool = False) -> Admission:
        """The admission of one task. `again`: examine it whatever is known; `progress` is told each stage's name."""
        if not again and (found := self.known(task)):
            return found
        with told_where_space_ends(self._launcher.root):
            require_space(self._launcher.root, SCRATCH_REMEDY)
            self._toolchain.cache.require_space()
            admission = self._tried(task, progress or (lambda _stage: None))
        if not _DEPEND_ON_THE_MACHINE & {reason.kind for reason in admission.reasons}:
            keep_admission(self._toolchain.cache, admission)
        return admission

    def admit_many(
        self,
        tasks: Iterable[Task],
        workers: int = 2,
        on_admitted: Callable[[Admitted], None] | None = None,
        *,
        again: bool = False,
    ) -> list[Admitted]:
        """In the order of the tasks; `on_admitted` sees each as it is known, in the caller's thread."""
        found = []
        jobs = ((lambda i=i, task=task: self._admitted(i, task, again=again)) for i, task in enumerate(tasks))
        for admitted in as_completed(jobs, workers, self.close):
            if on_admitted:
                on_admitted(admitted)
            found.append(admitted)
        return sorted(found, key=lambda a: a.index)

    def _admitted(self, index: int, task: Task, *, again: bool) -> Admitted:
        try:
            return Admitted(index, self.admit(task, again=again))
        except (NotJudged, TaskError) as error:
            return Admitted(index, None, error)

    def _tried(self, task: Task, progress: Progress) -> Admission:
        for _attempt in range(1, TRIES):
            with contextlib.suppress(Transient):
                return self._examined(task, progress)
            if self._closed.is_set():
                raise NotJudged(CLOSED)
        return self._examined(task, progress)

    def _examined(self, task: Task, progress: Progress) -> Admission:
        examination = Examination(task, self.config, self.secret, self._launcher, self._toolchain, progress)
        found, evidence = examination.examine(), examination.evidence
        outcome, reasons = found.outcome()
        kept = outcome is not Outcome.REFUSED
        return Admission(
            outcome=outcome,
            reasons=tuple(r.model_copy(update={"message": one_line(r.message)}) for r in reasons),
            notes=tuple(n.model_copy(update={"message": one_line(n.message)}) for n in found.all_notes()),
            impostors=found.impostors(),
            variations=tuple(found.variations),
            needs=found.needs() if kept else (),
            forward_seconds=found.forward_seconds,
            backend=self.config.backend,
            device=evidence.device,
            reductions=evidence.reductions,
            shapes=found.shapes,
            protocol=self.config.protocol,
            versions=versions(),
            seed=self.secret,
            task_id=task.task_id,
            task_hash=task.task_hash,
            key=self._key(task),
            config=self.config.of_the_verdict(),
            stage_seconds=evidence.stage_seconds,
        )

    def _key(self, task: Task) -> str:
        return admission_key(task.task_hash, self.config, self._toolchain.device_name, versions())


class _Cpu:
    """What admission needs of the simulator's toolchain: nothing is built, and tasks run on the CPU itself."""

    device_name = "cpu"

    def __init__(self) -> None:
        self.cache = FileCache()

    def close(self) -> None:
        self.cache.close()

    def device_turn(self, *, shared: bool) -> AbstractContextManager[None]:
        del shared
        return nullcontext()


def _toolchain(config: VerifyConfig) -> Any:
    if config.backend == "simulator":
        return _Cpu()
    if config.backend == "cuda":
        from mooreeval.toolchains.cuda_on_device import CudaOnDevice

        return CudaOnDevice(config.cuda, pool=config.pool)
    raise NotJudged(f"this version admits no tasks on backend {config.backend}")
