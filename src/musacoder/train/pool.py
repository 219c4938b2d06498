"""The pool of rejection-sampling fine-tuning: right answers of each task, by structure, and the targets drawn from it.

    pool.jsonl   one `PoolEntry` a line: a correct and legal answer of the run, which may become a target

A task's targets are up to m answers of each cluster, no two of which are the same program. A visit of a task is
(epoch, task): its target is drawn anew, by a seed, from all of them. No torch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mooreeval.candidate import Candidate
from mooreeval.errors import UsageError
from mooreeval.extract import extract
from mooreeval.hashing import content_hash
from mooreeval.render import strict_json
from mooreeval.verdict import Record, Status
from musacoder.data.records import SCHEMA_VERSION, Row, RowKind, Split, Turn
from musacoder.data.structure import structure_of
from musacoder.runlog import Judged, Key, MessageTold, RunFolder, Sample
from musacoder.runlog.lines import Lines, read_lines
from musacoder.runlog.records import record_of

FILE = "pool.jsonl"


class PoolEntry(Record):
    """A correct and legal answer, and how its kernels are built."""

    schema_version: Literal[1] = SCHEMA_VERSION
    task: str
    task_hash: str
    index: int
    turn: int
    cluster: str  # Structure.cluster_key
    program: str  # SHA-256 (hex) of the identifier-free syntax: equal ones are one program
    reward: float | None
    evidence: str | None  # of the verdict: "device" or "emulation"
    answer: str  # as the model wrote it, its reasoning included
    prompt: tuple[MessageTold, ...]  # the task's first one

    @property
    def key(self) -> Key:
        return Key(self.task, self.index, self.turn)


@dataclass(frozen=True)
class Origin:
    """What a row says of its task."""

    family: str
    operators: tuple[str, ...]
    licence: str


def fill_pool(run: RunFolder) -> list[PoolEntry]:
    """All entries of a run; those that are not in its file yet are appended. Of a run that is written to.

    UsageError: a damaged file, named.
    """
    path = run.path / FILE
    lines = Lines(path)
    try:
        known = {entry.key: entry for entry in read_pool(path)}
        for judged in run.verdicts():
            if judged.key not in known and (entry := _entry(run, judged)) is not None:
                lines.append(strict_json(entry))
                known[entry.key] = entry
    finally:
        lines.close()
    return [known[key] for key in sorted(known)]


def read_pool(path: Path) -> Iterator[PoolEntry]:
    """Entries of a file, in the order in which they were written; no file is none."""
    return (record_of(PoolEntry, data, place) for _, place, data in read_lines(path))


def _entry(run: RunFolder, judged: Judged) -> PoolEntry | None:
    if judged.verdict is None or judged.verdict.status is not Status.CORRECT:
        return None
    sample, first = run.sample(judged.key), run.sample(Key(judged.task, judged.index, 1))
    candidate = extract(sample.answer or "", finish_reason=sample.finish_reason)
    if not isinstance(candidate, Candidate):
        return None
    structure = structure_of(candidate.code)
    return PoolEntry(
        **judged.key._asdict(),
        task_hash=next(entry.hash for entry in run.manifest.tasks if entry.name == judged.task),
        cluster=structure.cluster_key,
        program=content_hash(structure.normalised),
        reward=judged.reward,
        evidence=judged.verdict.evidence,
        answer=_whole(sample),
        prompt=first.messages,
    )


def _whole(sample: Sample) -> str:
    """The answer with the reasoning before it, where a server took that apart."""
    return f"<think>\n{sample.reasoning}\n</think>\n\n{sample.answer}" if sample.reasoning else sample.answer or ""


def targets_of(entries: Iterable[PoolEntry], most: int) -> dict[str, list[PoolEntry]]:
    """By task, up to `most` entries of each cluster, the earliest, no program twice."""
    found: dict[str, list[PoolEntry]] = defaultdict(list)
    programs: set[tuple[str, str]] = set()
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for entry in sorted(entries, key=lambda e: e.key):
        cluster, program = (entry.task, entry.cluster), (entry.task, entry.program)
        if counts[cluster] < most and program not in programs:
            found[entry.task].append(entry)
            counts[cluster] += 1
            programs.add(program)
    return dict(found)


def best_of_one(entries: Iterable[PoolEntry]) -> dict[str, list[PoolEntry]]:
    """By task, the entry of the highest reward; of equal ones the earliest."""
    best: dict[str, PoolEntry] = {}
    for entry in sorted(entries, key=lambda e: e.key):
        if entry.task not in best or (entry.reward or 0.0) > (best[entry.task].reward or 0.0):
            best[entry.task] = entry
    return {task: [entry] for task, entry in best.items()}


def drawn(targets: Sequence[PoolEntry], seed: int, epoch: int) -> PoolEntry:
    """The target of a task's visit in that epoch: each of them is as likely, whatever was drawn before."""
    number = int(content_hash([seed, epoch, targets[0].task_hash])[:16], 16)
    return targets[number % len(targets)]


def visits(targets: Mapping[str, Sequence[PoolEntry]], epochs: int, seed: int) -> Iterator[tuple[int, PoolEntry]]:
    """(epoch, target) of every visit: each task once in each epoch."""
    for epoch in range(epochs):
        for task in sorted(targets):
            yield epoch, drawn(targets[task], seed, epoch)


def row_of(entry: PoolEntry, epoch: int, model: str, origin: Origin) -> Row:
    """The row that a visit trains on."""
    return Row(
        kind=RowKind.GENERATION,
        prompt=tuple(Turn(role=message.role, content=message.content) for message in entry.prompt),
        completion=(Turn(role="assistant", content=entry.answer),),
        task_hash=entry.task_hash,
        family=origin.family,
        operators=origin.operators,
        cluster=entry.cluster,
        split=Split.TRAIN,
        source=f"policy:{model}",
        licence=origin.licence,
        facts={"epoch": epoch, "answer": entry.index, "turn": entry.turn, "evidence": entry.evidence},
    )


def write_rows(path: Path, rows: Iterable[Row]) -> int:
    """The file, whole or not at all; how many rows it has. UsageError where it can't be written."""
    part = path.with_suffix(".part")
    count = 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("w", encoding="utf-8") as file:
            for row in rows:
                file.write(strict_json(row) + "\n")
                count += 1
        part.replace(path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
    return count
