"""Whole runs in a few words, for tests of what is computed from them and shown of them.

A run is written task by task as lists of samples, a sample as words separated by spaces, one word a turn:

    correct            correct and not timed
    2.0/1.5            correct, 2.0 times as fast as eager and 1.5 times as fast as compile; "2.0/" has no compile
    incorrect:0.5      that status; the number is q
    wmma?              unsupported, for want of that feature
    !disk              not judged, because of that
    ~timed_out         no answer: the kind of the failure
    ...                an answer without a verdict
    -                  nothing at all
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from support.runs import judged, manifest, sample
from support.verdicts import verdict

from mooreeval.reward import reward
from mooreeval.verdict import Status, TaskAdmission, Timing, Verdict
from musacoder.evaluate import Metrics, Run, evaluate
from musacoder.runlog import Judged, Manifest, Sample, TaskEntry

Rows = Mapping[str, Sequence[str]]


def small_run(rows: Rows, *, admissions: Mapping[str, str] | None = None, **fields: Any) -> Run:
    """A run of these rows; `admissions` by task, other fields as the manifest's."""
    evidence = fields.setdefault("evidence", "device")
    samples, verdicts = [], []
    for task, words in rows.items():
        told = TaskAdmission(outcome=(admissions or {}).get(task, "admitted"))  # type: ignore[arg-type]
        for index, turns in enumerate(words):
            for turn, word in enumerate(turns.split(), start=1):
                one, other = records(task, index, turn, word, evidence, told)
                samples += one
                verdicts += other
    return Run(manifest_of(rows, **fields), samples, verdicts)


def manifest_of(rows: Rows, **fields: Any) -> Manifest:
    """The manifest of a run of these rows; a task's hash is its name."""
    turns = max((len(t.split()) for words in rows.values() for t in words), default=1)
    known = {"samples": max(map(len, rows.values()), default=1), "turns": turns, "backend": "cuda", "device": "H200"}
    levels, families = fields.pop("levels", {}), fields.pop("families", {})
    tasks = tuple(TaskEntry(name=n, hash=n, level=levels.get(n), family=families.get(n)) for n in rows)
    return manifest(**{**known, "tasks": tasks, **fields})


def records(
    task: str, index: int, turn: int, word: str, evidence: str, told: TaskAdmission
) -> tuple[list[Sample], list[Judged]]:
    """The sample and the judgement that a word stands for."""
    if word == "-":
        return [], []
    if word.startswith("~"):
        return [sample(task, index, turn, failure=(word[1:], "it failed"))], []
    answered = [sample(task, index, turn, prompt_tokens=100, completion_tokens=10 * (index + 1), seconds=1.0)]
    if word == "...":
        return answered, []
    if word.startswith("!"):
        return answered, [judged(task, index, turn, not_judged=word[1:])]
    found = verdict_of(word, evidence, told)
    return answered, [judged(task, index, turn, verdict=found, reward=reward(found))]


def verdict_of(word: str, evidence: str = "device", told: TaskAdmission | None = None) -> Verdict:
    """The verdict that a word stands for."""
    common: dict[str, Any] = {"evidence": evidence, "admission": told}
    if "/" in word:
        return verdict(Status.CORRECT, timing=timing(*word.split("/")), **common)
    if word.endswith("?"):
        return verdict(Status.UNSUPPORTED, unsupported_feature=word[:-1], **common)
    status, _, q = word.partition(":")
    return verdict(Status(status), **common, **({"q": float(q)} if q else {}))


def timing(eager: str, compiled: str) -> Timing:
    """A call of 1 ms with these speed-ups; the lower ends of the intervals are a tenth below."""
    fields: dict[str, float] = {}
    for name, value in (("eager", eager), ("compile", compiled)):
        if value:
            fields |= {f"{name}_ms": float(value), f"{name}_speedup_low": float(value) - 0.1}
            fields |= {f"{name}_speedup_high": float(value) + 0.1}
    return Timing(candidate_ms=1.0, **fields)  # type: ignore[arg-type]


def metrics_of(run: Run, **options: Any) -> Metrics:
    """The metrics of a run."""
    return evaluate(run.manifest, run.samples, run.verdicts, **options)
