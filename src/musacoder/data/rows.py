"""The stage from programs to rows: one call, any part of which may be interrupted and gone on with.

    programs.jsonl ─> judgements.jsonl (judging.py, the slow part) ─┬─> rewrites.jsonl, rows.jsonl
    reasons.jsonl (teacher.py, where there is one) ─────────────────┘

What is made last follows from the other files and the configuration, so it is made anew each time, and takes the old
files' place when it is whole.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from mooreeval.config import Whole
from mooreeval.errors import UsageError
from mooreeval.verdict import Record, Status, Verdict
from mooreeval.verify import Verifier
from musacoder.data import judging
from musacoder.data.asking import Asking, row
from musacoder.data.io import Judgement, read_programs, read_records
from musacoder.data.judging import JudgingConfig, JudgingReport, drawn, judge_programs
from musacoder.data.profiling_rows import Measured, row_of_profile, rows_of_rewrites
from musacoder.data.questions import rows_of_questions
from musacoder.data.records import Program, Row, RowKind
from musacoder.data.repair import rows_of_mutants, rows_of_run
from musacoder.data.rewrites import second_answers, verified
from musacoder.data.teacher import FILE as REASONS
from musacoder.data.teacher import read_reasons
from musacoder.prompts import PromptTooLong
from musacoder.runlog import RunFolder

FILE, REWRITES = "rows.jsonl", "rewrites.jsonl"
Reason = Callable[[Program], str | None]
Share = Annotated[float, Field(ge=0, le=1)]


class RowsConfig(Record):
    """Which rows are made."""

    judging: JudgingConfig = JudgingConfig()
    questions: Whole = Field(2, description="Questions about each program that was judged, at most.")
    unjudged_questions: Share = Field(0.05, description="Share of the other programs that one question is about.")
    rewrites: bool = Field(True, description="Whether judged programs of the author get a second answer, judged too.")
    runs: tuple[Path, ...] = Field((), description="Run folders whose failures become rows of repair.")


@dataclass
class RowsReport:
    """What was made. `seconds` are wall."""

    rows: int = 0
    kinds: Mapping[RowKind, float] = field(default_factory=dict)  # shares
    families: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)  # by reason
    judging: JudgingReport = field(default_factory=JudgingReport)
    judging_seconds: float = 0.0
    writing_seconds: float = 0.0


def make_rows(
    programs_file: Path,
    out: Path,
    asking: Asking,
    config: RowsConfig,
    verifier: Verifier | None = None,
    tell: Callable[[str], None] = lambda _line: None,
    close: Callable[[], None] = lambda: None,
) -> RowsReport:
    """Make `out/rows.jsonl` from the programs; without a verifier from the judgements that are there already.

    Raises UsageError where the programs can't be read, or the folder can't be written. `close` ends the verifier's work
    where this thread is interrupted; what is judged by then stays.
    """
    programs = read_programs(programs_file)
    chosen = drawn(programs, config.judging.programs, config.judging.seed)
    seconds = list(second_answers(chosen)) if config.rewrites else []
    report, start = RowsReport(), time.monotonic()
    if verifier is not None:
        report.judging = judge_programs(chosen, out, verifier, config.judging, tell, close)
        alone = config.judging.model_copy(update={"programs": None, "mutants": 0})
        report.judging.add(judge_programs(seconds, out, verifier, alone, tell, close))
    report.judging_seconds, start = time.monotonic() - start, time.monotonic()
    judgements = list(read_records(Judgement, out / judging.FILE))
    seconds = list(verified(seconds, {j.program_hash: j for j in judgements if not j.rules}))
    write_records(seconds, out / REWRITES)
    asking = replace(asking, reason=_first_of(asking.reason, _teachers(out)))
    rows = _counted(rows_of([*programs, *seconds], judgements, asking, config, report.left_out), report)
    write_records(rows, out / FILE)
    report.writing_seconds = time.monotonic() - start
    return report


def programs_of_rows(programs_file: Path, out: Path) -> list[Program]:
    """All programs that `out/rows.jsonl` is about. UsageError as `read_programs`."""
    return [*read_programs(programs_file), *read_records(Program, out / REWRITES)]


def write_records(records: Iterable[Record], path: Path) -> None:
    """A file of records, whole or not at all. UsageError where it can't be written."""
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("w", encoding="utf-8") as file:
            for each in records:
                file.write(each.model_dump_json() + "\n")
        part.replace(path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None


def rows_of(
    programs: Sequence[Program],
    judgements: Sequence[Judgement],
    asking: Asking,
    config: RowsConfig,
    left_out: Counter[str],
) -> Iterator[Row]:
    """Rows of every class that the programs and judgements give, those of one program together."""
    of_program: dict[str, list[Judgement]] = defaultdict(list)
    for judgement in judgements:
        of_program[judgement.program_hash].append(judgement)
    for program in programs:
        if program.status != Status.CORRECT:
            left_out["a program that nothing verified"] += 1
            continue
        known = of_program[program.program_hash]
        yield from _generation(program, asking, left_out)
        is_drawn = int(program.program_hash[:8], 16) < config.unjudged_questions * 2**32
        yield from rows_of_questions(program, known, asking, config.questions if known else int(is_drawn))
        yield from rows_of_mutants(program, known, asking)
        if (verdict := _own(known)) is not None:
            yield from row_of_profile(Measured(program, verdict), asking)
    for answers in _of_tasks(programs, of_program):
        yield from rows_of_rewrites(answers, asking)
    yield from _of_runs(programs, asking, config)


def _generation(program: Program, asking: Asking, left_out: Counter[str]) -> Iterator[Row]:
    try:
        prompt = asking.first(program)
    except PromptTooLong:
        left_out["a task that has no room in a prompt"] += 1
        return
    thought = asking.reason(program) if asking.thinks else None
    facts = {"reasoned": thought is not None}
    yield row(RowKind.GENERATION, program, prompt, asking.answer(program.candidate_code, thought), facts)


def _own(judgements: Sequence[Judgement]) -> Verdict | None:
    """The verdict on the program itself, where it is correct."""
    return next((j.verdict for j in judgements if not j.rules and j.verdict.status is Status.CORRECT), None)


def _of_tasks(programs: Sequence[Program], of_program: Mapping[str, list[Judgement]]) -> Iterator[list[Measured]]:
    """The judged right answers to each task that has several."""
    of_task: dict[str, list[Measured]] = defaultdict(list)
    for program in programs:
        if (verdict := _own(of_program.get(program.program_hash, []))) is not None:
            of_task[program.task_hash].append(Measured(program, verdict))
    yield from (answers for answers in of_task.values() if len(answers) > 1)


def _of_runs(programs: Sequence[Program], asking: Asking, config: RowsConfig) -> Iterator[Row]:
    pool: dict[str, list[Program]] = defaultdict(list)
    for program in programs:
        if program.status == Status.CORRECT:
            pool[program.task_hash].append(program)
    for path in config.runs:
        yield from rows_of_run(RunFolder.open(path), pool, asking)


def _teachers(out: Path) -> Reason:
    return read_reasons(out) if (out / REASONS).exists() else lambda _program: None


def _first_of(one: Reason, other: Reason) -> Reason:
    """Reasoning that is derived comes before what a teacher wrote."""
    return lambda program: one(program) or other(program)


def _counted(rows: Iterator[Row], report: RowsReport) -> Iterator[Row]:
    """Each conversation once, counted."""
    kinds: Counter[RowKind] = Counter()
    seen: set[str] = set()
    for each in rows:
        if each.row_hash in seen:
            continue
        seen.add(each.row_hash)
        kinds[each.kind] += 1
        report.families[each.family] += 1
        yield each
    report.rows = kinds.total()
    report.kinds = {kind: kinds[kind] / report.rows if report.rows else 0.0 for kind in RowKind}
