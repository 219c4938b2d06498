"""Verified programs as tests of training data need them: the gallery's right candidates, and how they are judged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.verdicts import verdict

from mooreeval import gallery
from mooreeval.candidate import Candidate
from mooreeval.task import Task
from mooreeval.verdict import Status, Verdict
from musacoder.data.records import Program

_FAMILIES = {"relu": "elementwise", "matmul": "matmul", "row_softmax": "softmax", "middle_sum": "reduction"}


def gallery_programs(*names: str) -> list[Program]:
    """A right candidate of each of these tasks of the gallery; of all, where none is named."""
    found = {}
    for entry in gallery.load():
        if entry.expected.status is Status.CORRECT and (not names or entry.task_name in names):
            found.setdefault(entry.task_name, entry)
    return [
        Program(
            task_code=entry.task_path.read_text(encoding="utf-8"),
            candidate_code=entry.candidate_path.read_text(encoding="utf-8"),
            family=_FAMILIES.get(name, "other"),
            operators=(name,),
            source="gallery",
            licence="Apache-2.0",
            status="correct",
            judged_by="simulator",
        )
        for name, entry in found.items()
    ]


class SayingJudge:
    """Judges as `say(code)` says: a status and fields of the verdict, or an exception. Remembers what it was asked."""

    def __init__(self, say: Callable[[str], tuple[Status, dict[str, Any]] | Exception]) -> None:
        self.say = say
        self.asked: list[str] = []

    def verify(self, task: Task, candidate: Any, progress: Any = None) -> Verdict:
        del progress
        assert isinstance(candidate, Candidate)
        self.asked.append(candidate.code)
        said = self.say(candidate.code)
        if isinstance(said, Exception):
            raise said
        status, fields = said
        identity = {"task_hash": task.task_hash, "candidate_hash": candidate.candidate_hash, "evidence": "emulation"}
        return verdict(status, **{**identity, **fields})
