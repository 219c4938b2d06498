"""A verdict for people (a report in a terminal) and for programs (strict JSON).

Text of a candidate's making reaches the terminal without control characters and never as markup.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import BaseModel
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from mooreeval.config import FeedbackConfig
from mooreeval.feedback import excerpt, plain
from mooreeval.verdict import Diagnostic, Finding, Mismatch, Place, Status, Verdict

STYLES = {
    Status.CORRECT: "bold green",
    Status.INCORRECT: "bold red",
    Status.ILLEGAL: "bold magenta",
    Status.COMPILE_ERROR: "bold red",
    Status.RUNTIME_ERROR: "bold red",
    Status.NO_CANDIDATE: "bold yellow",
    Status.UNSUPPORTED: "bold yellow",
}
SHOWN = 6  # of a kind; the JSON has them all
_LIMITS = FeedbackConfig(context_lines=1)


def strict_json(value: Any, *, indent: int | None = None) -> str:
    """JSON that any parser reads: NaN and infinities become the strings "NaN", "Infinity" and "-Infinity".

    A `Verdict` is read back from it unchanged: pydantic takes these strings for numbers.
    """
    data = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    text = json.dumps(_strict(data), ensure_ascii=False, allow_nan=False, indent=indent)
    return text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates are no Unicode text


def _strict(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {str(k): _strict(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(v) for v in value]
    return value


def report(verdict: Verdict, code: str | None = None, *, verbose: bool = False) -> RenderableType:
    """The readable report: status, why, the evidence with its lines, and what it was judged with.

    `code` is the candidate's own file, shown around each place. `verbose` adds hashes, versions, shapes and times.
    """
    lines = code.splitlines() if code else []
    return Group(_headline(verdict), *_sections(verdict, lines), _footer(verdict, verbose))


def print_report(console: Console, verdict: Verdict, code: str | None = None, *, verbose: bool = False) -> None:
    """Print `report` so that long words of a narrow terminal are folded and nothing is taken for markup."""
    console.print(report(verdict, code, verbose=verbose), markup=False, highlight=False)


def _headline(verdict: Verdict) -> RenderableType:
    name = verdict.status.value.replace("_", " ").upper()
    share = f"  {_passed(verdict)}" if verdict.trials and verdict.status is not Status.CORRECT else ""
    return Text().append(name, STYLES[verdict.status]).append(f"{share}\n{_line(verdict.reason)}")


def _passed(verdict: Verdict) -> str:
    return f"({sum(t.passed for t in verdict.trials)} of {len(verdict.trials)} trials passed)"


def _sections(verdict: Verdict, code: list[str]) -> Iterator[RenderableType]:
    for hit in verdict.rules:
        if _line(hit.message) not in _line(verdict.reason) or hit.place or hit.evidence:
            evidence = f" [{_line(hit.evidence)}]" if hit.evidence else ""
            yield _item(f"rule {hit.rule}{_at(hit.place)}", _line(hit.message) + evidence, "magenta", hit.place, code)
    yield from _limited((_diagnostic(d, code) for d in verdict.diagnostics if d.severity == "error"), "errors")
    yield from _limited((_finding(f, code) for f in _errors_first(verdict.findings)), "findings")
    mismatch = next((t.mismatch for t in verdict.trials if t.mismatch), None)
    if mismatch:
        yield _mismatch(mismatch)
    for title, text in (("exception", verdict.exception), ("it printed", verdict.output_tail)):
        if text and text.strip():
            yield _item(title, "", "red" if title == "exception" else "cyan", None, code)
            yield _indented(Text(_last_lines(text, 15), "dim"), 4)
    if verdict.launches:
        yield _launches(verdict)
    if verdict.reductions:
        sizes = ", ".join(f"{_line(r.name)} {r.original} -> {r.used}" for r in verdict.reductions)
        yield _item("run with smaller sizes", sizes, "cyan", None, code)
    yield from (_item("warning", _line(w), "yellow", None, code) for w in verdict.warnings)


def _limited(items: Iterable[RenderableType], noun: str) -> Iterator[RenderableType]:
    everything = list(items)
    yield from everything[:SHOWN]
    if len(everything) > SHOWN:
        yield Text(f"  {len(everything) - SHOWN} more {noun}", "dim")


def _errors_first(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda f: f.severity == "warning")


def _item(title: str, text: str, style: str, place: Place | None, code: list[str]) -> RenderableType:
    line = _indented(Text().append(title, style).append(f"  {text}" if text else ""), 2)
    shown = excerpt(place, code, _LIMITS)
    return Group(line, _indented(_source(shown), 4)) if shown else line


def _indented(content: RenderableType, columns: int) -> RenderableType:
    """Indented, continuation lines too, without spaces at the ends of lines."""
    return Padding(content, (0, 0, 0, columns), expand=False)


def _source(shown: str) -> Text:
    """Source lines, cut rather than wrapped so that a caret stays under its column."""
    text = Text(no_wrap=True, overflow="ellipsis")
    for number, line in enumerate(shown.split("\n")):
        text.append("\n" if number else "").append(line, "bold" if line.startswith(">") else "dim")
    return text


def _diagnostic(diagnostic: Diagnostic, code: list[str]) -> RenderableType:
    return _item(f"error{_at(diagnostic.place)}", _line(diagnostic.message), "red", diagnostic.place, code)


def _finding(finding: Finding, code: list[str]) -> RenderableType:
    error = finding.severity == "error"
    title = finding.kind.value.replace("_", " ") + _at(finding.place)
    first = _item(
        title if error else f"warning: {title}",
        _line(finding.message),
        "red" if error else "yellow",
        finding.place,
        code,
    )
    details = [f"kernel {_line(finding.kernel)}"] if finding.kernel else []
    if finding.block and finding.thread:
        details.append(f"block {finding.block}, thread {finding.thread}")
    if finding.other:
        details.append(
            f"other access{_at(finding.other)}" + (f", thread {finding.other_thread}" if finding.other_thread else "")
        )
    if finding.count > 1:
        details.append(f"seen {finding.count} times")
    return Group(first, _indented(Text("; ".join(details), "dim"), 4)) if details else first


def _mismatch(mismatch: Mismatch) -> RenderableType:
    line = _indented(Text().append("mismatch", "red").append(f"  {_line(mismatch.message)}"), 2)
    if not mismatch.examples:
        return line
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("index")
    table.add_column("got", justify="right")
    table.add_column("expected", justify="right")
    for index, got, expected in mismatch.examples:
        table.add_row(Text(str(list(index))), f"{got:.6g}", f"{expected:.6g}")
    return Group(line, _indented(table, 4))


def _launches(verdict: Verdict) -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("kernel", overflow="fold")
    for name in ("grid", "block", "shared", "times"):
        table.add_column(name, justify="right")
    for k in verdict.launches[:SHOWN]:
        sizes = ("x".join(map(str, k.grid)), "x".join(map(str, k.block)), f"{k.shared_bytes} B", str(k.count))
        table.add_row(Text(_line(k.kernel)), *sizes)
    if len(verdict.launches) > SHOWN:
        table.add_row(f"{len(verdict.launches) - SHOWN} more", "", "", "", "")
    return _indented(table, 2)


def _footer(verdict: Verdict, verbose: bool) -> RenderableType:
    facts = [f"backend {verdict.backend}"]
    if verdict.evidence == "emulation":
        facts.append("by emulation: it refutes, it does not measure speed")
    elif verdict.timing:
        facts.append(f"{verdict.timing.candidate_ms:.4g} ms")
    if verdict.device:
        facts.append(_line(verdict.device))
    facts += [f"policy {verdict.policy}", f"protocol {verdict.protocol}"]
    if verdict.stage_seconds:
        facts.append(f"{sum(verdict.stage_seconds.values()):.1f} s")
    return Group(_indented(Text(" · ".join(facts), "dim"), 2), *(_details(verdict) if verbose else ()))


def _details(verdict: Verdict) -> Iterator[RenderableType]:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    rows: dict[str, str] = {
        "task": f"{verdict.task_id or ''} {verdict.task_hash}".strip(),
        "candidate": verdict.candidate_hash,
        "config": verdict.config_hash,
        "seed": verdict.seed or "",
        "versions": ", ".join(f"{k} {v}" for k, v in verdict.versions.items()),
        "shapes": "; ".join(str(shape) for shape in verdict.shapes),
        "seconds": ", ".join(f"{k} {v:.2f}" for k, v in verdict.stage_seconds.items()),
    }
    for name, value in rows.items():
        if value:
            table.add_row(name, Text(_line(value)))
    yield Rule(style="dim")
    yield _indented(table, 2)


def found_line(verdict: Verdict) -> str:
    """Where in the candidate's own file to look first, in words; empty where no line is known."""
    errors = [*verdict.diagnostics, *verdict.findings]
    places = [verdict.place, *(e.place for e in errors if e.severity == "error")]
    known = (p.line for p in places if p is not None and p.line is not None and p.file == "candidate")
    line = next(known, None)
    return "" if line is None else f"line {line}"


def _at(place: Place | None) -> str:
    if place is None:
        return ""
    if place.line is None:
        return f" in {_line(place.file)}"
    return f" at line {place.line}" if place.file == "candidate" else f" at {_line(str(place))}"


def _line(text: str | None) -> str:
    return plain(" ".join((text or "").split()), 2000)


def _last_lines(text: str, count: int) -> str:
    return plain("\n".join(text.strip("\n").split("\n")[-count:]), 400)
