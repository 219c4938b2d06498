"""Admission: `Admitter.admit(task) -> Admission`. A task proves that it can tell right from wrong before it is used.

    Admitter
      ├── Launcher ── the task's process, impostor child        execute/children.py
      ├── cache ── admissions by content                        admission.py
      └── Examination: trials, impostors, variations            execute/examination.py

A task is hostile code and runs only in its own process, in the sandbox. Whatever is wrong with it is an outcome; a
failure of the judge raises NotJudged after one more try where that may help. Safe to call from several threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from mooreeval.admission import Admission, Outcome, admission_key, keep_admission, known_admission
from mooreeval.cache import FileCache
from mooreeval.config import VerifyConfig
from mooreeval.errors import NotJudged, TaskError
from mooreeval.execute.examination import Examination
from mooreeval.many import as_completed
from mooreeval.on_this_machine import OnThisMachine
from mooreeval.task import Task
from mooreeval.verify import one_line, versions

Progress = Callable[[str], None]
_DEPEND_ON_THE_MACHINE = {"too_slow", "does_not_fit"}  # refusals that are not kept


@dataclass(frozen=True)
class Admitted:
    """One of many: an admission, or the reason why there is none."""

    index: int
    admission: Admission | None
    error: NotJudged | TaskError | None = None


class Admitter(OnThisMachine):
    """Admits tasks on this machine. A context manager: leaving it ends every process."""

    def __init__(self, config: VerifyConfig | None = None) -> None:
        super().__init__(config, _toolchain)

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
        self._require_space()
        admission = self._tried(lambda: self._examined(task, progress or (lambda _stage: None)))
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
