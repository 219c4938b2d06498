"""The kernel that `generate` writes: NAME.py, and NAME.json with its verdict."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mooreeval.candidate import Candidate, load_candidate
from mooreeval.errors import UsageError
from mooreeval.extract import extract
from mooreeval.render import strict_json
from mooreeval.task import Task
from musacoder.runlog import Judged, Sample

_REPLACES = "replaces"  # hash of the kernel that stood there before


@dataclass(frozen=True)
class KernelFile:
    """Where the best kernel for a task goes. Never written over a file of another origin, or that was changed since."""

    code: Path
    verdict: Path

    @classmethod
    def of(cls, folder: Path, task: Task) -> KernelFile:
        """In `folder`, named after the task.

        Raises UsageError where there is a file of that name which is no kernel for this task, or was changed by hand.
        """
        name = re.sub(r"[^\w.-]+", "_", re.split(r"[/:]", task.task_id)[-1]).strip(".") or "kernel"
        file = cls(folder / f"{name}.py", folder / f"{name}.json")
        if (file.code.exists() or file.verdict.exists()) and not file.is_for(task):
            raise UsageError(f"{file.code} is there already, and no kernel for this task: choose another --out")
        file.refuse_changed()
        return file

    def is_for(self, task: Task) -> bool:
        """Whether what is there was written for this task."""
        return self._told().get("task_hash") == task.task_hash

    def refuse_changed(self) -> None:
        """Raises UsageError where the code is not that of its verdict: somebody has worked on it."""
        if not self.code.exists():
            return
        told = self._told()
        if self._hash() not in (told.get("candidate_hash"), told.get(_REPLACES)):
            raise UsageError(f"{self.code} was changed since it was written: move it away, or choose another --out")

    def _told(self) -> dict[str, Any]:
        """The file of the verdict; empty where there is none."""
        try:
            told = json.loads(self.verdict.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return told if isinstance(told, dict) else {}

    def _hash(self) -> str | None:
        """Of the code that is there; None where there is none."""
        return load_candidate(self.code).candidate_hash if self.code.exists() else None

    def write(self, sample: Sample, judged: Judged) -> None:
        """Code and verdict of a right answer, each whole or not at all; the verdict first, which says whose it is.

        Raises UsageError where it cannot be written, or what is there was changed by hand.
        """
        found = extract(sample.answer or "", finish_reason=sample.finish_reason)
        if not isinstance(found, Candidate) or judged.verdict is None:
            raise ValueError(f"{sample.key} is no kernel with a verdict")
        self.refuse_changed()
        document = {**judged.verdict.model_dump(mode="json"), "reward": judged.reward, "feedback": judged.feedback}
        document[_REPLACES] = self._hash()  # which the code still has where nothing comes after the verdict
        try:
            self.code.parent.mkdir(parents=True, exist_ok=True)
            _replace(self.verdict, strict_json(document, indent=2) + "\n")
            _replace(self.code, found.code)  # to the last blank line, else it is not what the verdict's hash is of
        except OSError as error:
            raise UsageError(f"cannot write {self.code}: {error.strerror or error}") from None


def _replace(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
