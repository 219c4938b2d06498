"""The stage that has programs written and checked, many at a time, until there are enough.

    seed, seed + 1, ... ─> author ─> batches ─> BatchVerifier ─> checked.jsonl ─> selected ─> programs.jsonl

Which programs a run ends with depends on the seeds alone: they are taken in the order of their seeds, each once, no
family above its share, whatever order batches came in and however often the run was interrupted.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mooreeval.batch import BatchReport, BatchVerifier
from mooreeval.errors import UsageError
from mooreeval.verdict import Record, Status
from musacoder.data.records import SCHEMA_VERSION, Program, Split
from musacoder.data.trusted import check_programs, verified
from musacoder.synth.folder import BATCHES, CHECKED, PROGRAMS
from musacoder.synth.run import SynthRun

Write = Callable[[int, Split], Program | None]  # None: the author has no program of that seed
_REASON = 160  # characters


class Refused(Record):
    """A program that a batch did not call correct."""

    seed: int
    family: str
    status: str
    reason: str


class BatchDone(Record):
    """One batch: its seeds are [first, first + size)."""

    schema_version: Literal[1] = SCHEMA_VERSION
    number: int
    first: int
    size: int  # programs, at most
    correct: int
    refused: tuple[Refused, ...] = ()
    wall_seconds: float  # since the batch that was known before
    write_cpu_seconds: float
    check_cpu_seconds: float  # of compilers and children
    compiler_runs: int


@dataclass
class Selection:
    """The programs that are kept, and why others are not."""

    kept: list[Program] = field(default_factory=list)
    dropped: Counter[tuple[str, str]] = field(default_factory=Counter)  # (family, reason)


def select(programs: Iterable[Program], count: int, family_most: float) -> Selection:
    """The first `count` by seed that are distinct, no family above its share of `count`."""
    most, families, seen, found = int(family_most * count), Counter[str](), set[str](), Selection()
    for program in sorted(programs, key=lambda p: -1 if p.seed is None else p.seed):
        if len(found.kept) == count:
            break
        if program.program_hash in seen:
            found.dropped[program.family, "the same program again"] += 1
        elif families[program.family] >= max(1, most):
            found.dropped[program.family, "its family has its share"] += 1
        else:
            families[program.family] += 1
            found.kept.append(program)
        seen.add(program.program_hash)
    return found


def make_programs(run: SynthRun) -> Mapping[str, Any]:
    """The stage; raises UsageError where the seeds end before there are enough."""
    from musacoder.data import author

    def written(seed: int, split: Split) -> Program | None:
        try:
            return author.write(seed, split)
        except author.NoGraphError:
            return None

    return ProgramsStage(run, written).facts()


class ProgramsStage:
    """State: what the folder holds, and the batches in the works."""

    def __init__(self, run: SynthRun, write: Write) -> None:
        self._run, self._write, self._config = run, write, run.config.programs
        self._done = {batch.number: batch for batch in run.folder.read(BATCHES, BatchDone)}
        self._written: dict[int, list[Program]] = {}
        self._write_seconds: dict[int, float] = {}
        kept = [p for p in run.folder.read(CHECKED, Program) if self._number_of(p) in self._done]
        self._correct = {p.seed: p for p in kept}

    def facts(self) -> Mapping[str, Any]:
        config = self._config
        with self._run.progress("programs", config.count) as tell:
            self._tell, self._started, self._before = tell, time.monotonic(), len(self._correct)
            if not self._is_enough():
                self._check()
        selection = self._selection()
        if len(selection.kept) < config.count:
            raise UsageError(
                f"{config.most_seeds} seeds gave {len(selection.kept)} of {config.count} programs: "
                "raise programs.most_seeds or programs.family_most, or ask for fewer (programs.count)"
            )
        self._run.folder.replace(PROGRAMS, selection.kept)
        return _facts(selection, self._done.values())

    def _check(self) -> None:
        run = self._run
        with BatchVerifier(run.config.verify, self._config.limits) as verifier:
            last = time.monotonic()
            for number, report in check_programs(verifier, self._batches(), run.config.work.workers):
                now = time.monotonic()
                self._keep(self._order[number], report, now - last)
                last = now

    def _batches(self) -> Iterator[list[Program]]:
        """Batches that are not done, until there are enough programs."""
        self._order: list[int] = []
        last = -(-self._config.most_seeds // self._config.batch)
        for number in range(last):
            if number in self._done:
                continue
            if self._is_enough():
                return
            self._order.append(number)
            start = time.thread_time()
            written = (self._write(seed, self._config.split) for seed in self._seeds(number))
            self._written[number] = [program for program in written if program]
            self._write_seconds[number] = time.thread_time() - start
            yield self._written[number]

    def _seeds(self, number: int) -> range:
        first = self._config.first_seed + number * self._config.batch
        return range(first, min(first + self._config.batch, self._config.first_seed + self._config.most_seeds))

    def _number_of(self, program: Program) -> int:
        assert program.seed is not None
        return (program.seed - self._config.first_seed) // self._config.batch

    def _keep(self, number: int, report: BatchReport, seconds: float) -> None:
        """Programs first, then the line that says that the batch is done."""
        programs, seeds = self._written.pop(number), self._seeds(number)
        pairs = list(zip(programs, report.outcomes, strict=True))
        correct = [verified(program) for program, outcome in pairs if outcome.status is Status.CORRECT]
        refused = tuple(
            Refused(seed=program.seed or 0, family=program.family, status=outcome.status.value,
                    reason=outcome.reason[:_REASON])
            for program, outcome in pairs
            if outcome.status is not Status.CORRECT
        )  # fmt: skip
        done = BatchDone(
            number=number,
            first=seeds[0],
            size=len(programs),
            correct=len(correct),
            refused=refused,
            wall_seconds=round(seconds, 3),
            write_cpu_seconds=round(self._write_seconds.pop(number), 3),
            check_cpu_seconds=round(report.build_cpu_seconds + report.run_cpu_seconds, 3),
            compiler_runs=report.compiler_runs,
        )
        self._run.folder.append(CHECKED, correct)
        self._run.folder.append(BATCHES, [done])
        self._done[number] = done
        self._correct |= {program.seed: program for program in correct}
        self._tell(min(len(self._correct), self._config.count), self._line())

    def _line(self) -> str:
        minutes = max(time.monotonic() - self._started, 1e-3) / 60
        refused = sum(len(batch.refused) for batch in self._done.values())
        return f"{(len(self._correct) - self._before) / minutes:.0f} a minute, {refused} refused"

    def _is_enough(self) -> bool:
        return len(self._correct) >= self._config.count and len(self._selection().kept) == self._config.count

    def _selection(self) -> Selection:
        """Of batches before the first gap: what comes behind it might be the last program's place."""
        whole = 0
        while whole in self._done:
            whole += 1
        correct = (p for p in self._correct.values() if self._number_of(p) < whole)
        return select(correct, self._config.count, self._config.family_most)


def _facts(selection: Selection, batches: Iterable[BatchDone]) -> Mapping[str, Any]:
    batches = list(batches)
    dropped: dict[str, Counter[str]] = {}
    for (family, reason), count in selection.dropped.items():
        dropped.setdefault(family, Counter())[reason] += count
    for refused in (each for batch in batches for each in batch.refused):
        dropped.setdefault(refused.family, Counter())[refused.status] += 1
    return {
        "programs": len(selection.kept),
        "families": dict(sorted(Counter(p.family for p in selection.kept).items())),
        "dropped": {family: dict(counts) for family, counts in sorted(dropped.items())},
        "written": sum(batch.size for batch in batches),
        "write_cpu_seconds": round(sum(batch.write_cpu_seconds for batch in batches), 1),
        "check_cpu_seconds": round(sum(batch.check_cpu_seconds for batch in batches), 1),
        "check_wall_seconds": round(sum(batch.wall_seconds for batch in batches), 1),
        "batches": len(batches),
        "compiler_runs": sum(batch.compiler_runs for batch in batches),
    }
