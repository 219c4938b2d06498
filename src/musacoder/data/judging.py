"""Programs and their mutants before the judge: the one slow step, kept apart from the rows that are made of it.

    programs ─> each program itself, then some of its mutants ─> LocalVerifier ─> judgements.jsonl

A judgement is written as it is made and never asked for twice, so an interrupted run goes on where it stopped, and rows
can be made again under other prompts without judging anything.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field

from mooreeval.candidate import Candidate
from mooreeval.config import Count, Whole
from mooreeval.errors import NotJudged, TaskError
from mooreeval.many import as_completed
from mooreeval.verdict import Record, Status, Verdict
from mooreeval.verify import Verifier
from musacoder.data.asking import task_of
from musacoder.data.io import Judgement, append, read_records
from musacoder.data.mutations import Mutant, mutants_of_task
from musacoder.data.records import Program
from musacoder.runlog.lines import Lines

FILE = "judgements.jsonl"


class JudgingConfig(Record):
    """How many programs and mutants are judged, and which."""

    programs: Count | None = Field(None, description="Programs that are judged and mutated; none: all.")
    mutants: Whole = Field(3, description="Mutants of each program, of different kinds.")
    seed: Whole = Field(0, description="Which programs and which mutants.")
    workers: Count = Field(2, description="Judged at once.")


@dataclass
class JudgingReport:
    """What became of a run. `not_judged` and `wrong_programs` are lines that name what is left out."""

    judged: int = 0
    kept: int = 0  # judged by an earlier run
    not_judged: list[str] = field(default_factory=list)
    wrong_programs: list[str] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)

    def add(self, other: JudgingReport) -> None:
        """What another call came to, too."""
        self.judged += other.judged
        self.kept += other.kept
        self.not_judged += other.not_judged
        self.wrong_programs += other.wrong_programs
        self.statuses += other.statuses


@dataclass(frozen=True)
class _Ask:
    rules: tuple[str, ...]
    code: str


def judge_programs(
    programs: Sequence[Program],
    out: Path,
    verifier: Verifier,
    config: JudgingConfig,
    tell: Callable[[str], None] = lambda _line: None,
    close: Callable[[], None] = lambda: None,
) -> JudgingReport:
    """Judge what is still missing of `out/judgements.jsonl`. Raises UsageError where the folder can't be written.

    A program that the verifier does not call correct is named, and none of its mutants is judged. `close` ends the
    verifier's work where this thread is interrupted.
    """
    report = JudgingReport()
    known = {(j.program_hash, j.code): j for j in read_records(Judgement, out / FILE)}
    out.mkdir(parents=True, exist_ok=True)
    lines = Lines(out / FILE)
    try:
        chosen = drawn(programs, config.programs, config.seed)
        asked = zip(chosen, _asks(chosen, config), strict=True)
        jobs = ((lambda p=p, a=a: _judged(p, a, known, verifier, lines)) for p, a in asked)
        for done in as_completed(jobs, config.workers, close):
            _count(report, done)
            tell(f"{report.judged + report.kept} judged")
    finally:
        lines.close()
    return report


def drawn(programs: Iterable[Program], count: int | None, seed: int) -> list[Program]:
    """That many of them by lot: which depends on the seed and on the programs alone, not on their order."""
    by_lot = sorted(programs, key=lambda p: _lot(seed, p.program_hash))
    return by_lot if count is None else by_lot[:count]


def _lot(seed: int, *words: str) -> str:
    return hashlib.sha256("\0".join([str(seed), *words]).encode()).hexdigest()


def _asks(programs: Sequence[Program], config: JudgingConfig) -> Iterator[list[_Ask]]:
    """For each program: itself, and mutants of those kinds and rules that came up least so far."""
    kinds: Counter[str] = Counter()
    rules: Counter[str] = Counter()
    for program in programs:
        pool = sorted(
            mutants_of_task(program.task_code, program.candidate_code), key=lambda m: _lot(config.seed, m.code)
        )
        asks = [_Ask((), program.candidate_code)]
        chosen: list[Mutant] = []
        while pool and len(chosen) < config.mutants:
            mutant = min(pool, key=lambda m: (kinds[m.rule.kind], rules[m.rule.name]))
            chosen.append(mutant)
            pool = [m for m in pool if m.rule.kind != mutant.rule.kind]
            kinds[mutant.rule.kind] += 1
            rules[mutant.rule.name] += 1
        asks += [_Ask((m.rule.name,), m.code) for m in chosen]
        yield asks + _of_two(program, chosen)


def _of_two(program: Program, chosen: Sequence[Mutant]) -> list[_Ask]:
    """Both of the first two mutants that change different lines, in one file: the beginning of three turns."""
    for i, one in enumerate(chosen):
        for other in chosen[:i]:
            if (both := merged(program.candidate_code, one.code, other.code)) is not None:
                return [_Ask((other.rule.name, one.rule.name), both)]
    return []


def merged(base: str, one: str, other: str) -> str | None:
    """The base with the changes of both; None where they change the number of lines, or one line both."""
    lines = [text.split("\n") for text in (base, one, other)]
    if len({len(each) for each in lines}) != 1:
        return None
    merged_lines = []
    for was, first, second in zip(*lines, strict=True):
        if was not in (first, second) and first != second:
            return None
        merged_lines.append(second if first == was else first)
    return "\n".join(merged_lines)


def _judged(
    program: Program, asks: list[_Ask], known: dict[tuple[str, str], Judgement], verifier: Verifier, lines: Lines
) -> list[tuple[_Ask, Program, Judgement | str, bool]]:
    """Each ask with its judgement, or why there is none, and whether an earlier run made it."""
    done: list[tuple[_Ask, Program, Judgement | str, bool]] = []
    for ask in asks:
        kept = known.get((program.program_hash, ask.code))
        judgement = kept or _ask(program, ask, verifier, lines)
        done.append((ask, program, judgement, kept is not None))
        is_right = not isinstance(judgement, str) and judgement.verdict.status is Status.CORRECT
        if not ask.rules and not is_right:
            break
    return done


def _ask(program: Program, ask: _Ask, verifier: Verifier, lines: Lines) -> Judgement | str:
    try:
        verdict = verifier.verify(task_of(program), Candidate(ask.code))
    except (NotJudged, TaskError) as error:
        return str(error)
    judgement = Judgement(program_hash=program.program_hash, rules=ask.rules, code=ask.code, verdict=_slim(verdict))
    append(lines, [judgement])
    return judgement


def _slim(verdict: Verdict) -> Verdict:
    """Without what no row tells: the configuration stands in the folder once, and its hash in each verdict."""
    return verdict.model_copy(update={"config": {}, "stage_seconds": {}, "operators": (), "kernels": ()})


def _count(report: JudgingReport, done: list[tuple[_Ask, Program, Judgement | str, bool]]) -> None:
    for ask, program, judgement, kept in done:
        name = f"{program.family} program {program.program_hash[:12]}"
        if isinstance(judgement, str):
            report.not_judged.append(f"{name} ({', '.join(ask.rules) or 'itself'}): {judgement}")
            continue
        report.kept += kept
        report.judged += not kept
        report.statuses[judgement.verdict.status.value] += 1
        if not ask.rules and judgement.verdict.status is not Status.CORRECT:
            report.wrong_programs.append(f"{name} is {judgement.verdict.status.value}: {judgement.verdict.reason}")
