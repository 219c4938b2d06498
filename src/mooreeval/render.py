"""A verdict for people (a report in a terminal) and for programs (strict JSON).

Text of a candidate's making reaches the terminal without control characters and never as markup.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mooreeval.config import FeedbackConfig
from mooreeval.feedback import excerpt, plain, reduced_size, triple
from mooreeval.verdict import (
    Diagnostic,
    Finding,
    KernelProfile,
    Mismatch,
    Place,
    Profile,
    Status,
    Timing,
    Trial,
    Verdict,
)

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
LINE_CHARACTERS = 2000  # of text that is not ours: more is no help to anybody
_LIMITS = FeedbackConfig(context_lines=1, line_characters=LINE_CHARACTERS)
_UNBOUNDED = 10 * LINE_CHARACTERS  # columns of a file or a pipe
_OWN_LINE = re.compile(r"\bcandidate(?=:\d)")
_OWN_FRAME = re.compile(r'^(  File )"candidate\.py"', re.MULTILINE)


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


@dataclass(frozen=True)
class _Own:
    """The candidate as the reader knows it: its lines, and what its file is called where it is one."""

    lines: list[str]
    file_name: str | None

    def names(self, text: str | None) -> str:
        """Text in one line, with places in the candidate's own file by that file's name."""
        line = _line(text)
        return _OWN_LINE.sub(lambda _found: _line(self.file_name), line) if self.file_name else line

    def frames(self, traceback: str) -> str:
        """A traceback with the candidate's own file by its name."""
        name = _line(self.file_name)
        return _OWN_FRAME.sub(lambda found: f'{found[1]}"{name}"', traceback) if name else traceback

    def at(self, place: Place | None) -> str:
        """Where, as the end of a title."""
        if place is None:
            return ""
        if place.line is None:
            return f" in {_line(place.file)}"
        if place.file == "candidate" and not self.file_name:
            return f" at line {place.line}"
        return f" at {self.names(str(place))}"


def report(
    verdict: Verdict, code: str | None = None, *, file_name: str | None = None, verbose: bool = False
) -> RenderableType:
    """The readable report: status, why, the evidence with its lines, and what it was judged with.

    `code` is the candidate's own file, shown around each place; `file_name` is that file's name, where the code is all
    that the file holds. `verbose` adds hashes, versions, shapes and times.
    """
    own = _Own(code.splitlines() if code else [], file_name)
    return Group(_headline(verdict, own), *_sections(verdict, own), _footer(verdict, verbose))


def print_report(
    console: Console,
    verdict: Verdict,
    code: str | None = None,
    *,
    file_name: str | None = None,
    verbose: bool = False,
) -> None:
    """Print `report`, see `print_whole`."""
    print_whole(console, report(verdict, code, file_name=file_name, verbose=verbose))


def print_whole(console: Console, content: RenderableType) -> None:
    """Print so that nothing is taken for markup: folded to a terminal's width, else line by line in full.

    COLUMNS asks for a width where there is no terminal.
    """
    if console.is_terminal:
        console.print(content, markup=False, highlight=False)
        return
    width = console.width if "COLUMNS" in os.environ else _UNBOUNDED
    rows = console.render_lines(content, console.options.update(width=width), pad=False)
    console.out("\n".join("".join(part.text for part in row).rstrip() for row in rows), highlight=False)


def _headline(verdict: Verdict, own: _Own) -> RenderableType:
    name = verdict.status.value.replace("_", " ").upper()
    counted = bool(re.match(r"\d+ of \d+ trials pass|the only trial", verdict.reason))
    tell = verdict.trials and verdict.status is not Status.CORRECT and not counted
    share = f"  {_passed(verdict)}" if tell else ""
    return Text().append(name, STYLES[verdict.status]).append(f"{share}\n{own.names(verdict.reason)}")


def _passed(verdict: Verdict) -> str:
    return f"({sum(t.passed for t in verdict.trials)} of {len(verdict.trials)} trials passed)"


def _sections(verdict: Verdict, own: _Own) -> Iterator[RenderableType]:
    said = _line(verdict.reason)
    for hit in verdict.rules:
        text = " ".join(filter(None, (_unsaid(hit.message, said), f"[{_line(hit.evidence)}]" if hit.evidence else "")))
        if text or hit.place:
            yield _item(f"rule {hit.rule}{own.at(hit.place)}", own.names(text), "magenta", hit.place, own)
    errors = (d for d in verdict.diagnostics if d.severity == "error")
    yield from _limited((_diagnostic(d, own, said) for d in errors), "errors")
    yield from _limited((_finding(f, own, said) for f in _errors_first(verdict.findings)), "findings")
    failed = next((t for t in verdict.trials if t.mismatch), None)
    if failed and failed.mismatch:
        yield _mismatch(failed, failed.mismatch, said)
    if frames := _unsaid_end(verdict.exception, said):
        yield _item("exception", "", "red", None, own)
        yield _indented(_traceback(own.frames(_last_lines(frames, 15))), 4)
    if verdict.output_tail and verdict.output_tail.strip():
        yield _item("it printed", "", "cyan", None, own)
        yield _indented(Text(_last_lines(verdict.output_tail, 15), "dim", overflow="fold"), 4)
    if verdict.launches:
        yield _launches(verdict)
    if verdict.timing:
        yield _timing(verdict.timing)
    if verdict.profile:
        yield _profile(verdict.profile)
    if verdict.reductions:
        sizes = ", ".join(_line(reduced_size(r)) for r in verdict.reductions)
        yield _item("run with smaller sizes", sizes, "cyan", None, own)
    yield from (_item("warning", own.names(w), "yellow", None, own) for w in verdict.warnings)
    if verdict.admission and verdict.admission.reasons:
        yield _item(f"task {verdict.admission.outcome}", "; ".join(verdict.admission.reasons), "yellow", None, own)


def _unsaid(message: str, said: str) -> str:
    """The message, unless the reason above has told it."""
    line = _line(message)
    return "" if line in said else line


def _unsaid_end(exception: str | None, said: str) -> str:
    """A traceback without what was raised, where the reason has told that. Frames are the first, indented rows."""
    rows = (exception or "").strip("\n").split("\n")
    frames = next((k for k, row in enumerate(rows) if not row.startswith(" ")), len(rows))
    return "\n".join(rows if _unsaid("\n".join(rows[frames:]), said) else rows[:frames])


def _limited(items: Iterable[RenderableType], noun: str) -> Iterator[RenderableType]:
    everything = list(items)
    yield from everything[:SHOWN]
    if len(everything) > SHOWN:
        yield Text(f"  {len(everything) - SHOWN} more {noun}", "dim")


def _errors_first(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda f: f.severity == "warning")


def _item(title: str, text: str, style: str, place: Place | None, own: _Own) -> RenderableType:
    line = _indented(Text().append(title, style).append(f"  {text}" if text else ""), 2)
    shown = excerpt(place, own.lines, _LIMITS)
    return Group(line, _indented(_source(shown), 4)) if shown else line


def _indented(content: RenderableType, columns: int) -> RenderableType:
    """Indented, continuation lines too."""
    return Padding(content, (0, 0, 0, columns), expand=False)


def _source(shown: str) -> Text:
    """Source lines, cut rather than wrapped on a terminal so that a caret stays under its column."""
    text = Text(no_wrap=True, overflow="ellipsis")
    for number, line in enumerate(shown.split("\n")):
        text.append("\n" if number else "").append(line, "bold" if line.startswith(">") else "dim")
    return text


def _traceback(text: str) -> RenderableType:
    """Frames with their source lines and carets as such, what was raised as prose."""
    rows = text.split("\n")
    return Group(*(_source(row) if row.startswith(" ") else Text(row, "dim") for row in rows))


def _diagnostic(diagnostic: Diagnostic, own: _Own, said: str) -> RenderableType:
    title = f"error{own.at(diagnostic.place)}"
    return _item(title, own.names(_unsaid(diagnostic.message, said)), "red", diagnostic.place, own)


def _finding(finding: Finding, own: _Own, said: str) -> RenderableType:
    error = finding.severity == "error"
    title = finding.kind.value.replace("_", " ") + own.at(finding.place)
    first = _item(
        title if error else f"warning: {title}",
        own.names(_unsaid(finding.message, said) if error else finding.message),
        "red" if error else "yellow",
        finding.place,
        own,
    )
    details = [f"kernel {_line(finding.kernel)}"] if finding.kernel else []
    if finding.block and finding.thread:
        details.append(f"block {triple(finding.block)}, thread {triple(finding.thread)}")
    if finding.other:
        other_thread = f", thread {triple(finding.other_thread)}" if finding.other_thread else ""
        details.append(f"other access{own.at(finding.other)}{other_thread}")
    if finding.count > 1:
        details.append(f"seen {finding.count} times")
    return Group(first, _indented(Text("; ".join(details), "dim"), 4)) if details else first


def _mismatch(trial: Trial, mismatch: Mismatch, said: str) -> RenderableType:
    weights = "other weights" if trial.weights == "other" else None
    how = ", ".join(_line(word) for word in (trial.schedule, trial.inputs, weights) if word and word != "plain")
    title = f"mismatch in trial {trial.index}" + (f" ({how})" if how else "")
    message = _unsaid(mismatch.message, said)
    line = _indented(Text().append(title, "red").append(f"  {message}" if message else ""), 2)
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


def _timing(timing: Timing) -> RenderableType:
    """How long a call takes, and what that is worth against the baselines."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("time of a call", "ms", "speed-up"):
        table.add_column(name, justify="left" if name.startswith("time") else "right")
    table.add_row("candidate", f"{timing.candidate_ms:.4g}", "")
    for name, ms in (("eager", timing.eager_ms), ("compile", timing.compile_ms)):
        if ms is not None:
            table.add_row(f"PyTorch {name}", f"{ms:.4g}", f"{ms / timing.candidate_ms:.3g}x")
    notes = []
    if timing.eager_speedup_low is not None and timing.eager_speedup_high is not None:
        notes.append(f"95 % interval {timing.eager_speedup_low:.3g}x to {timing.eager_speedup_high:.3g}x over eager")
    if timing.candidate_device_ms is not None and timing.eager_device_ms is not None:
        notes.append(f"on the device alone {timing.candidate_device_ms:.3g} ms, eager {timing.eager_device_ms:.3g} ms")
    if timing.baseline_precision:
        notes.append(f"baselines in {timing.baseline_precision}")
    if timing.throttled:
        notes.append(f"the device was slowed: {timing.throttled}")
    return Group(_indented(table, 2), _indented(Text(" · ".join(notes), "dim"), 2))


def _profile(profile: Profile) -> RenderableType:
    """The longest kernels against their roofs, and what is to be said of them."""
    if profile.missing is not None:
        return _indented(Text().append("no profile", "cyan").append(f"  {_line(profile.missing)}"), 2)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("kernel", "us", "times", "memory", "arithmetic", "occupancy", "limit"):
        table.add_column(name, justify="left" if name in ("kernel", "limit") else "right", overflow="fold")
    for kernel in profile.kernels:
        table.add_row(*_profile_row(kernel))
    said = (_indented(Text().append("- ").append(_line(sentence)), 2) for sentence in profile.advice)
    return Group(_indented(table, 2), *said)


def _profile_row(kernel: KernelProfile) -> Iterator[Text]:
    yield Text(_line(kernel.kernel))
    yield Text(f"{kernel.duration_us:.1f}")
    yield Text(str(kernel.launches))
    for percent in (kernel.memory_percent, kernel.arithmetic_percent, kernel.occupancy_percent):
        yield Text("?" if percent is None else f"{percent:.0f} %")
    yield Text(kernel.limit or "?")


def _footer(verdict: Verdict, verbose: bool) -> RenderableType:
    facts = [f"backend {verdict.backend}"]
    if verdict.evidence == "emulation":
        facts.append("by emulation: it refutes, it does not measure speed")
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
    yield Text("  " + "─" * 16, "dim")
    yield _indented(table, 2)


def found_line(verdict: Verdict) -> str:
    """Where in the candidate's own file to look first, in words; empty where no line is known."""
    errors = [*verdict.diagnostics, *verdict.findings]
    places = [verdict.place, *(e.place for e in errors if e.severity == "error")]
    known = (p.line for p in places if p is not None and p.line is not None and p.file == "candidate")
    line = next(known, None)
    return "" if line is None else f"line {line}"


def _line(text: str | None) -> str:
    return plain(" ".join((text or "").split()), LINE_CHARACTERS)


def _last_lines(text: str, count: int) -> str:
    return plain("\n".join(text.strip("\n").split("\n")[-count:]), LINE_CHARACTERS)
