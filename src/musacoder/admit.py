"""`musacoder admit`: shows of each task whether it can tell right from wrong."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from mooreeval.admission import Admission, Outcome
from mooreeval.config import VerifyConfig
from mooreeval.errors import UsageError
from mooreeval.render import strict_json
from mooreeval.render_admission import print_admissions, summary
from mooreeval.task import Task
from musacoder.progress import progress

if TYPE_CHECKING:
    from mooreeval.admit import Admitted

OK, SOME_REFUSED, NOT_JUDGED = 0, 1, 3


def run_admit(
    tasks: Sequence[Task],
    config: VerifyConfig,
    *,
    workers: int,
    again: bool,
    record: Path | None,
    as_json: bool,
    verbose: bool,
) -> int:
    """Admit and print; 0 where no task is refused, 1 where one is, 3 where one could not be judged."""
    start = time.monotonic()
    found: dict[int, Admitted] = {}
    try:
        _admit(tasks, config, found, workers=workers, again=again, record=record, as_json=as_json, verbose=verbose)
    except KeyboardInterrupt:
        _tell(tasks, found, time.monotonic() - start, as_json=as_json, verbose=verbose)  # what was found until then
        raise
    _tell(tasks, found, time.monotonic() - start, as_json=as_json, verbose=verbose)
    if any(admitted.admission is None for admitted in found.values()):
        return NOT_JUDGED
    refused = any(a.admission and a.admission.outcome is Outcome.REFUSED for a in found.values())
    return SOME_REFUSED if refused else OK


def _admit(
    tasks: Sequence[Task],
    config: VerifyConfig,
    found: dict[int, Admitted],
    *,
    workers: int,
    again: bool,
    record: Path | None,
    as_json: bool,
    verbose: bool,
) -> None:
    from mooreeval.admit import Admitter

    with Admitter(config) as admitter, progress("admitting", len(tasks), quiet=as_json, verbose=verbose) as advance:

        def note(admitted: Admitted) -> None:
            found[admitted.index] = admitted
            if record and admitted.admission:
                _append(record, admitted.admission)
            advance(_short(tasks[admitted.index], admitted))

        admitter.admit_many(tasks, workers, note, again=again)


def _append(path: Path, admission: Admission) -> None:
    """One line of JSON, whole on the disk before the next task's."""
    try:
        with path.open("a", encoding="utf-8") as lines:
            lines.write(strict_json(admission) + "\n")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def _short(task: Task, admitted: Admitted) -> str:
    if admitted.admission is None:
        return f"{task.task_id}: not judged ({admitted.error})"
    kinds = ", ".join(reason.kind for reason in admitted.admission.reasons)
    return f"{task.task_id}: {admitted.admission.outcome.value}" + (f" ({kinds})" if kinds else "")


def _tell(tasks: Sequence[Task], found: dict[int, Admitted], seconds: float, *, as_json: bool, verbose: bool) -> None:
    ordered = [found[i] for i in sorted(found)]
    admissions = [a.admission for a in ordered if a.admission]
    lost = [(tasks[a.index].task_id, str(a.error)) for a in ordered if a.admission is None]
    counted = summary([a.outcome for a in admissions], len(lost))
    if as_json:
        print(strict_json(_document(admissions, lost, len(tasks), seconds), indent=2))
        return
    console = Console(highlight=False)
    print_admissions(console, admissions, verbose=verbose)
    for task_id, why in lost:
        console.print(f"not judged  {task_id}: {why}", style="bold yellow", markup=False, soft_wrap=True)
    console.print(f"\n{len(found)} of {len(tasks)} tasks in {seconds:.0f} s: {counted}", style="bold", soft_wrap=True)


def _document(
    admissions: Sequence[Admission], lost: Sequence[tuple[str, str]], total: int, seconds: float
) -> dict[str, Any]:
    return {
        "total": total,
        **{outcome.value: sum(a.outcome is outcome for a in admissions) for outcome in Outcome},
        "not_judged": [{"task": task_id, "error": why} for task_id, why in lost],
        "wall_seconds": round(seconds, 2),
        "admissions": [a.model_dump(mode="json") for a in admissions],
    }
