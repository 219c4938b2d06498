"""What a task opens to: its source and, of each run, every candidate with its turns.

Packed per task (JSON, gzip, base64) and unpacked by the page when somebody opens it: thousands of answers stay small,
and nothing that a model wrote is markup anywhere.
"""

from __future__ import annotations

import base64
import difflib
import gzip
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from mooreeval.candidate import Candidate as Code
from mooreeval.extract import extract
from mooreeval.render import report as verdict_report
from mooreeval.verdict import Verdict
from musacoder.evaluate.outcomes import Attempt, Candidate, Outcome, candidates_of
from musacoder.report.gather import ReadRun
from musacoder.report.words import decimal, duration, number, spoken, times, visible
from musacoder.runlog import Judged, Key, Sample

DIFF_LINES = 2000  # of one diff; more is another program
VERDICT_COLUMNS = 100
CODE_IS_ABOVE = "[the code above]"
_FENCES = "```python\n\n```\n"


@dataclass(frozen=True)
class Mark:
    """One candidate in a task's row: its best turn's outcome."""

    outcome: str
    told: str
    speedup: float | None  # over eager


@dataclass(frozen=True)
class Opened:
    """One run's share of a task."""

    label: str
    marks: tuple[Mark, ...]
    candidates: list[dict[str, Any]]


def packed(value: Any) -> str:
    """JSON, compressed, in characters that mean nothing to HTML."""
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return base64.b64encode(gzip.compress(data, compresslevel=6, mtime=0)).decode("ascii")


def opened(read: ReadRun, *, code: bool, advance: Callable[[str], Any] = str) -> dict[str, Opened]:
    """By task name what a run has of it.

    `code` False: nothing that a model wrote, and no words that may quote it. `advance` is told of each task.
    """
    answers = {sample.key: sample for sample in read.run.samples}
    judged = {verdict.key: verdict for verdict in read.run.verdicts}
    by_task: dict[str, list[Candidate]] = {task.name: [] for task in read.run.manifest.tasks}
    for candidate in candidates_of(read.run.manifest, read.run.samples, read.run.verdicts, None):
        by_task[candidate.task].append(candidate)
    found = {}
    for name, candidates in by_task.items():
        shown = [_candidate(candidate, answers, judged, code=code) for candidate in candidates]
        found[name] = Opened(read.label, tuple(_mark(candidate) for candidate in candidates), shown)
        advance(name)
    return found


def _mark(candidate: Candidate) -> Mark:
    best = candidate.best
    speed = best.speedup("eager")
    told = f"sample {candidate.index + 1}: {spoken(best.outcome.value)}"
    fast = f", {times(speed)} as fast as eager" if speed is not None else ""
    return Mark(best.outcome.value, told + fast, speed)


def _candidate(
    candidate: Candidate, answers: Mapping[Key, Sample], judged: Mapping[Key, Judged], *, code: bool
) -> dict[str, Any]:
    """A candidate as the page's script reads it."""
    turns: list[dict[str, Any]] = []
    before: str | None = None
    for attempt in candidate.attempts:
        key = Key(attempt.task, attempt.index, attempt.turn)
        turn = _facts(attempt, answers.get(key), judged.get(key))
        if code:
            text = _code(answers.get(key))
            turn |= _words(attempt, answers.get(key), judged.get(key), text)
            turn["diff"] = list(_diff(before, text)) if before is not None and text is not None else None
            before = text if text is not None else before
        turns.append({name: value for name, value in turn.items() if value not in (None, "", [])})
    return {"index": candidate.index + 1, "best": candidate.best.turn, "turns": turns}


def _facts(attempt: Attempt, sample: Sample | None, judged: Judged | None) -> dict[str, Any]:
    """Numbers, and words of the judge's own lists."""
    facts = [f"score {decimal(attempt.score)}"] if attempt.score is not None else []
    facts += [f"{times(v)} over {b}" for b in ("eager", "compile") if (v := attempt.speedup(b)) is not None]
    if sample is not None:
        tokens = sample.completion_tokens
        facts += [f"{number(tokens)} tokens"] if tokens is not None else []
        facts += [f"answered in {duration(sample.seconds)}"] if sample.seconds else []
    if judged is not None:
        facts.append(f"judged in {duration(max(judged.ended_at - judged.started_at, 0.0))}")
    return {
        "turn": attempt.turn,
        "outcome": attempt.outcome.value,
        "facts": facts,
        "found": _found(attempt),
    }


def _found(attempt: Attempt) -> str:
    """Why, without quoting anybody."""
    if attempt.outcome in (Outcome.NO_ANSWER, Outcome.NOT_ANSWERED, Outcome.UNSUPPORTED):
        return visible(attempt.detail or "")[:120]
    verdict = attempt.verdict
    if verdict is None or attempt.outcome is Outcome.CORRECT:
        return ""
    words = [hit.rule for hit in verdict.rules] + [f.kind.value for f in verdict.findings if f.severity == "error"]
    mismatches = [t.mismatch for t in verdict.trials if t.mismatch]
    words += [word for m in mismatches for word in (m.kind, *m.patterns)]
    passed = f"q = {verdict.q:.2g}" if verdict.q is not None else ""
    return ", ".join(filter(None, (*(spoken(word) for word in dict.fromkeys(words)), passed)))


def _words(attempt: Attempt, sample: Sample | None, judged: Judged | None, code: str | None) -> dict[str, Any]:
    """Everything that may hold a model's text."""
    answer = None if sample is None else sample.answer
    words = {"code": code, "reasoning": None if sample is None else sample.reasoning}
    words["answer"] = answer if code is None or answer is None else _around(answer, code)
    if sample is not None and sample.failure is not None:
        words["failure"] = f"{spoken(sample.failure.kind)}: {sample.failure.message}"
    if sample is not None and sample.shortened:
        words["shortened"] = "; ".join(sample.shortened)
    if judged is not None:
        words |= {"feedback": judged.feedback, "not_judged": judged.not_judged}
        words["verdict"] = None if judged.verdict is None else verdict_text(judged.verdict, code)
    return {name: visible(text) for name, text in words.items() if text}


def _around(answer: str, code: str) -> str | None:
    """An answer without its code, which is shown by itself; None where little else is left."""
    rest = answer.replace("\r\n", "\n").replace(code.strip(), CODE_IS_ABOVE)
    return rest if len(rest) > len(CODE_IS_ABOVE) + len(_FENCES) else None


def _code(sample: Sample | None) -> str | None:
    if sample is None or sample.answer is None:
        return None
    found = extract(sample.answer, finish_reason=sample.finish_reason)
    return found.code if isinstance(found, Code) else None


def verdict_text(verdict: Verdict, code: str | None) -> str:
    """The verdict's report as it looks in a terminal."""
    console = Console(file=io.StringIO(), width=VERDICT_COLUMNS, color_system=None, highlight=False, markup=False)
    with console.capture() as captured:
        console.print(verdict_report(verdict, code), markup=False, highlight=False)
    return "\n".join(line.rstrip() for line in captured.get().splitlines()).strip("\n")


def _diff(before: str, after: str) -> Iterator[str]:
    """A unified diff without its head."""
    if before == after:
        yield " the code is the same"
        return
    lines: Sequence[str] = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=3))[2:]
    yield from (visible(line) for line in lines[:DIFF_LINES])
    if len(lines) > DIFF_LINES:
        yield f" [{len(lines) - DIFF_LINES} more lines]"
