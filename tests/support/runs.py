"""Records of a run folder, as tests of what writes and reads them need them."""

from __future__ import annotations

from typing import Any

from support.verdicts import verdict

from mooreeval.verdict import Status
from musacoder.runlog import FailureTold, Judged, Manifest, MessageTold, Sample, TaskEntry


def manifest(*tasks: str, **fields: Any) -> Manifest:
    """Of a small bench run over tasks of these names."""
    known: dict[str, Any] = {
        "name": "small",
        "kind": "bench",
        "model": "scripted:gallery",
        "suite": "gallery",
        "samples": 2,
        "turns": 1,
        "backend": "simulator",
        "policy": "native",
        "protocol": "ours",
        "evidence": "emulation",
        "config_hash": "f" * 64,
        "created_at": 1000.0,
        "tasks": tuple(TaskEntry(name=name, hash="7" * 64) for name in tasks or ("relu",)),
    }
    return Manifest(**{**known, **fields})


def sample(task: str = "relu", index: int = 0, turn: int = 1, **fields: Any) -> Sample:
    """An answer; with `failure` given as (kind, message) there is none."""
    failure = fields.pop("failure", None)
    known: dict[str, Any] = {
        "messages": (MessageTold(role="user", content=f"write {task}"),),
        "answer": None if failure else f"answer {index} to {task} in turn {turn}",
        "failure": FailureTold(kind=failure[0], message=failure[1]) if failure else None,
        "asked_at": 1000.0,
        "answered_at": 1001.0,
    }
    return Sample(task=task, index=index, turn=turn, **{**known, **fields})


def judged(task: str = "relu", index: int = 0, turn: int = 1, status: Status | None = None, **fields: Any) -> Judged:
    """A judgement of that status, by default correct; with `not_judged` there is no verdict."""
    told = None if "not_judged" in fields else verdict(status or Status.CORRECT)
    times = {"queued_at": 1001.0, "started_at": 1002.0, "ended_at": 1003.0}
    return Judged(task=task, index=index, turn=turn, **{"verdict": told, **times, **fields})
