"""What several benchmarks share: a list of every run that was started, which an interrupted benchmark takes up again.

The list is one JSON file, written as a run starts and as it ends: a run without a status was begun and did not end.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import sys
import threading
import time
from pathlib import Path
from typing import Any

from mooreeval.candidate import Candidate, NoCandidate
from mooreeval.errors import MooreError
from mooreeval.task import Task
from mooreeval.verdict import Verdict
from mooreeval.verify import LocalVerifier, versions

Row = dict[str, Any]
NOT_JUDGED = "not_judged"


class RunList:
    """Runs in a file. Safe to use from several threads.

    Args:
        path: the file; where it exists it is taken up again.
        plan: what the runs have in common; another plan than the file's ends the program and names what differs.
    """

    def __init__(self, path: Path, plan: Row) -> None:
        self._path, self._lock = path, threading.Lock()
        before: Row = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"plan": plan}
        plan = json.loads(json.dumps(plan))
        if changed := sorted(key for key in plan | before["plan"] if plan.get(key) != before["plan"].get(key)):
            sys.exit(f"{path} was begun with another {', '.join(changed)}: name another file, or repeat its options")
        self.invocations: list[Row] = [*before.get("invocations", []), _invocation()]
        self.segments: list[Row] = before.get("segments", [])
        self.runs: list[Row] = before.get("runs", [])
        self.plan = plan
        self._write()

    @property
    def command(self) -> str:
        return self.invocations[-1]["command"]

    def start(self, **fields: Any) -> Row:
        """A new run, listed."""
        with self._lock:
            row = {**fields, "started": round(time.time(), 1)}
            self.runs.append(row)
            self._write()
        return row

    def end(self, row: Row, result: Row) -> None:
        """A run's result; it holds a status."""
        with self._lock:
            row |= result
            self._write()

    def segment(self, **fields: Any) -> None:
        """A stretch of time in which runs shared the machine, and what they took together."""
        with self._lock:
            self.segments.append(fields)
            self._write()

    def ended(self, **fields: Any) -> list[Row]:
        """Runs with these fields that have a result."""
        return [row for row in self.runs if "status" in row and fields.items() <= row.items()]

    def machine(self) -> str:
        """One line: device, driver, versions, cores; as far as a verdict has told them."""
        told = next((row for row in reversed(self.runs) if row.get("versions")), {})
        found = {**versions(), **told.get("versions", {})}
        names = ", ".join(f"{name} {value}" for name, value in found.items() if value != "not installed")
        head = f"{told.get('device') or 'no device'}; {self.invocations[-1]['cores']} cores"
        return f"{head}; {names}; load at the start {self.invocations[-1]['load']}"

    def _write(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        data = {"plan": self.plan, "invocations": self.invocations, "segments": self.segments, "runs": self.runs}
        part = self._path.with_name(self._path.name + ".part")
        part.write_text(json.dumps(data, indent=1), encoding="utf-8")
        part.replace(self._path)


def _invocation() -> Row:
    return {
        "command": f"python {shlex.join(sys.argv)}", "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": platform.platform(), "cores": len(os.sched_getaffinity(0)), "load": round(os.getloadavg()[0], 1),
    }  # fmt: skip


def judged(verifier: LocalVerifier, task: Task, candidate: Candidate | NoCandidate) -> Row:
    """What a run's row keeps of its verdict."""
    start = time.monotonic()
    try:
        verdict = verifier.verify(task, candidate)
    except MooreError as error:
        reason = f"{type(error).__name__}: {error}"
        return {"status": NOT_JUDGED, "reason": reason, "wall_seconds": round(time.monotonic() - start, 3)}
    return {**_kept(verdict), "wall_seconds": round(time.monotonic() - start, 3)}


def _kept(verdict: Verdict) -> Row:
    fields = (
        "status", "reason", "q", "device", "device_seconds",
        "shared_device_seconds", "stage_seconds", "build_tiers", "timing", "warnings", "seed", "versions",
        "task_hash", "candidate_hash", "config_hash",
    )  # fmt: skip
    return verdict.model_dump(mode="json", include=set(fields))


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
