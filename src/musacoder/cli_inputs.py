"""What TASK and CANDIDATE stand for on the command line: files, the gallery, the bundled suite, standard input."""

from __future__ import annotations

import dataclasses
import difflib
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from mooreeval.errors import NotJudged, UsageError
from musacoder.suite import bundled_tasks

if TYPE_CHECKING:
    from mooreeval.candidate import Candidate, NoCandidate
    from mooreeval.task import Task

GALLERY = "gallery:"
BUNDLED = "bundled:"


def load_tasks_named(name: str) -> list[Task]:
    """All tasks that a name stands for."""
    from mooreeval.task_sources import load_tasks

    if name == GALLERY:
        from musacoder.suites import gallery_tasks

        return gallery_tasks()
    if name.startswith(GALLERY):
        return [dataclasses.replace(load_task_named(name), task_id=name)]
    if name == BUNDLED:
        return [load_task_named(BUNDLED + task.name) for task in bundled_tasks()]
    if name.startswith(BUNDLED):
        return [load_task_named(name)]
    return load_tasks(name)


def load_task_named(name: str) -> Task:
    """The task in a file, of the gallery, or of the bundled suite."""
    from mooreeval.task import load_task

    if name == "-":
        raise UsageError("TASK must be a file, gallery:NAME or bundled:NAME; only CANDIDATE may be - (standard input)")
    if name.startswith(BUNDLED):
        return load_task(_bundled_path(name.removeprefix(BUNDLED)))
    if not name.startswith(GALLERY):
        return load_task(name)
    from mooreeval import gallery

    paths = {entry.task_name: entry.task_path for entry in gallery.load()}
    wanted = name.removeprefix(GALLERY)
    if wanted not in paths:
        raise UsageError(f"the gallery has no task {wanted!r}; it has {', '.join(sorted(paths))}")
    return load_task(paths[wanted])


def _bundled_path(wanted: str) -> Path:
    paths = {task.name: task.path for task in bundled_tasks()}
    if wanted not in paths:
        near = difflib.get_close_matches(wanted, paths, n=3, cutoff=0.4) or sorted(paths)[:3]
        raise UsageError(f"the bundled suite has no task {wanted!r}; of its {len(paths)} tasks try {', '.join(near)}")
    return paths[wanted]


def load_candidate_named(name: str) -> Candidate | NoCandidate:
    """The candidate in a file, of the gallery, or on standard input."""
    from mooreeval.candidate import load_candidate

    if name == "-":
        return _with_hint(_candidate_from_stdin())
    if not name.startswith(GALLERY):
        return _with_hint(load_candidate(name))
    from mooreeval import gallery

    entries = {f"{e.task_name}/{e.candidate_name}": e.candidate_path for e in gallery.load()}
    wanted = name.removeprefix(GALLERY)
    if wanted not in entries:
        task = wanted.partition("/")[0]
        near = [e for e in entries if e.startswith(task + "/")]
        listed = (
            f"of that task it has {', '.join(near)}" if near else "write gallery:TASK/NAME, e.g. gallery:relu/plain"
        )
        raise UsageError(f"the gallery has no candidate {wanted!r}; {listed}")
    return load_candidate(entries[wanted])


def _with_hint(candidate: Candidate | NoCandidate) -> Candidate | NoCandidate:
    """CUDA source alone is nothing to judge: who gives it is told what is missing."""
    from mooreeval.candidate import Candidate

    if isinstance(candidate, Candidate) or "__global__" not in candidate.text or "ModelNew" in candidate.text:
        return candidate
    hint = "CUDA source must stand in a Python file whose ModelNew calls it through load_inline (see the README)"
    return dataclasses.replace(candidate, reason=f"{candidate.reason}; {hint}")


def _candidate_from_stdin() -> Candidate | NoCandidate:
    from mooreeval.candidate import MAX_ANSWER_BYTES, load_candidate

    if sys.stdin is None or sys.stdin.closed:
        raise UsageError("there is no standard input to read the candidate from")
    data = sys.stdin.buffer.read(MAX_ANSWER_BYTES + 1)  # one more, so that what is too long is seen to be
    with tempfile.TemporaryDirectory(prefix="musacoder-") as folder:
        file = Path(folder) / "stdin"
        try:
            file.write_bytes(data)
        except OSError as error:
            raise NotJudged(f"cannot keep standard input in {folder}: {error.strerror}") from None
        return load_candidate(file)
