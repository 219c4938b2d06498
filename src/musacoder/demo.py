"""`musacoder demo`: judges the bundled gallery and compares each verdict with what is known of the candidate."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from mooreeval import gallery
from mooreeval.candidate import load_candidate
from mooreeval.config import VerifyConfig
from mooreeval.errors import UsageError
from mooreeval.gallery import Expected, GalleryEntry
from mooreeval.render import STYLES, found_line, strict_json
from mooreeval.task import load_task
from mooreeval.verdict import Status, Verdict
from musacoder.preparation import announce_preparation
from musacoder.progress import progress


@dataclass(frozen=True)
class Row:
    """One gallery entry and what became of it; `surprise` is empty where all is as expected."""

    entry: GalleryEntry
    verdict: Verdict | None
    surprise: str

    def as_json(self) -> dict[str, Any]:
        """What `--json` prints of it."""
        return {
            "task": self.entry.task_name,
            "candidate": self.entry.candidate_name,
            "description": self.entry.description,
            "expected": self.entry.expected.status.value,
            "as_expected": not self.surprise,
            "surprise": self.surprise or None,
            "verdict": None if self.verdict is None else self.verdict.model_dump(mode="json"),
        }


def run_demo(config: VerifyConfig, *, only: str | None, workers: int, as_json: bool, verbose: bool) -> int:
    """Judge and print; 0 where every verdict is as expected, 1 where one is not, 3 where one could not be judged."""
    entries = _entries(only)
    start = time.monotonic()
    rows: dict[int, Row] = {}
    try:
        _judge(entries, config, workers, rows, as_json=as_json, verbose=verbose)
    except KeyboardInterrupt:
        _tell(rows, len(entries), time.monotonic() - start, as_json=as_json)  # what was found until then
        raise
    _tell(rows, len(entries), time.monotonic() - start, as_json=as_json)
    if any(row.verdict is None for row in rows.values()):
        return 3
    return 0 if not any(row.surprise for row in rows.values()) else 1


def _tell(rows: dict[int, Row], total: int, seconds: float, *, as_json: bool) -> None:
    ordered = [rows[i] for i in sorted(rows)]
    if as_json:
        print(strict_json(_summary(ordered, total, seconds), indent=2))
    else:
        _print_table(ordered, total, seconds)


def surprise(verdict: Verdict, expected: Expected) -> str:
    """In what a verdict differs from the expectation, in a few words; empty where it does not."""
    if verdict.status is not expected.status:
        return f"expected {expected.status.value}"
    kinds = {finding.kind for finding in verdict.findings}
    if expected.kinds and not kinds & set(expected.kinds):
        return f"expected finding {' or '.join(expected.kinds)}"
    if expected.lines and not _lines(verdict, expected) & set(expected.lines):
        return f"expected line {' or '.join(map(str, expected.lines))}"
    if expected.mismatch and expected.mismatch not in {t.mismatch.kind for t in verdict.trials if t.mismatch}:
        return f"expected mismatch of {expected.mismatch}"
    if expected.rule and expected.rule not in {hit.rule for hit in verdict.rules}:
        return f"expected rule {expected.rule}"
    if expected.feature and expected.feature != verdict.unsupported_feature:
        return f"expected feature {expected.feature}"
    return ""


def _lines(verdict: Verdict, expected: Expected) -> set[int]:
    """Lines of the candidate's own file that the verdict names, those of expected findings where these are known."""
    findings = [f for f in verdict.findings if not expected.kinds or f.kind in expected.kinds]
    places = [p for f in findings for p in (f.place, f.other)]
    places += [d.place for d in verdict.diagnostics if d.severity == "error"]
    if not expected.kinds:
        places.append(verdict.place)
    return {p.line for p in places if p is not None and p.line is not None and p.file == "candidate"}


def _entries(only: str | None) -> list[GalleryEntry]:
    entries = gallery.load()
    chosen = [e for e in entries if only in (None, e.task_name)]
    if not chosen:
        raise UsageError(
            f"the gallery has no task {only!r}; it has {', '.join(sorted({e.task_name for e in entries}))}"
        )
    return chosen


def _judge(
    entries: Sequence[GalleryEntry],
    config: VerifyConfig,
    workers: int,
    rows: dict[int, Row],
    *,
    as_json: bool,
    verbose: bool,
) -> None:
    from mooreeval.verify import LocalVerifier, Outcome

    pairs = [(load_task(e.task_path), load_candidate(e.candidate_path)) for e in entries]
    with (
        LocalVerifier(config) as verifier,
        progress("judging", len(entries), quiet=as_json, verbose=verbose) as advance,
    ):
        announce_preparation(verifier)

        def note(outcome: Outcome) -> None:
            entry, verdict = entries[outcome.index], outcome.verdict
            told = surprise(verdict, entry.expected) if verdict else f"not judged: {outcome.error}"
            rows[outcome.index] = row = Row(entry, verdict, told)
            advance(_short(row))

        verifier.verify_many(pairs, workers=workers, on_outcome=note)


def _short(row: Row) -> str:
    status = "not judged" if row.verdict is None else row.verdict.status.value
    return f"{row.entry.task_name}/{row.entry.candidate_name}: {status}" + (
        f" ({row.surprise})" if row.surprise else ""
    )


def _summary(rows: list[Row], total: int, seconds: float) -> dict[str, Any]:
    return {
        "total": total,
        "judged": sum(row.verdict is not None for row in rows),
        "as_expected": sum(not row.surprise for row in rows),
        "wall_seconds": round(seconds, 2),
        "entries": [row.as_json() for row in rows],
    }


def _print_table(rows: list[Row], total: int, seconds: float) -> None:
    console = Console(highlight=False)
    for task, group in groupby(rows, key=lambda row: row.entry.task_name):
        _print_line(console, 0, Text(task, "bold"))
        for row in group:
            _print_line(console, 2, _judged_as(row))
            _print_line(console, 6, Text(row.entry.description, "dim"))
            if row.surprise:
                _print_line(console, 6, Text(row.surprise, "bold red"))
    good = sum(not row.surprise for row in rows)
    summary = f"{good} of {total} verdicts as expected, in {seconds:.0f} s"
    console.print(f"\n{summary}", style="bold green" if good == total else "bold red")
    for row in rows:
        if row.surprise:
            _print_line(console, 2, Text(_short(row), "bold red"))


def _print_line(console: Console, indent: int, text: Text) -> None:
    """On a terminal folded at words, under its own beginning; elsewhere one line, however long."""
    if console.is_terminal:
        console.print(Padding(text, (0, 0, 0, indent), expand=False))
    else:
        console.print(Text(" " * indent).append_text(text), soft_wrap=True)


def _judged_as(row: Row) -> Text:
    """Which candidate, its verdict, and what was found where."""
    line = Text(f"{row.entry.candidate_name:<28}")
    if row.verdict is None:
        return line.append("not judged", "bold yellow")
    line.append(_words(row.verdict.status), STYLES[row.verdict.status])
    found = "" if row.verdict.status is Status.CORRECT else _found(row.verdict)
    return line.append(f": {found}" if found else "")


def _words(status: Status) -> str:
    return status.value.replace("_", " ")


def _found(verdict: Verdict) -> str:
    """What was found and where, in two or three words."""
    errors = [f for f in verdict.findings if f.severity == "error"]
    what = errors[0].kind.value.replace("_", " ") if errors else ""
    mismatch = next((t.mismatch for t in verdict.trials if t.mismatch), None)
    if not what and mismatch:
        what = mismatch.patterns[0].replace("_", " ") if mismatch.patterns else mismatch.kind.replace("_", " ")
    what = what or verdict.unsupported_feature or ""
    return ", ".join(filter(None, (what, found_line(verdict))))
