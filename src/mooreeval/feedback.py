"""A verdict as text for a model's next turn: bounded, deterministic, plain.

Source lines, compiler messages and program output come from the candidate. They are quoted in fences that they cannot
close, without control characters or anything that a chat template would take for one of its own marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mooreeval.config import FeedbackConfig
from mooreeval.verdict import Diagnostic, Finding, Launch, Mismatch, Place, Reduction, Status, Trial, Verdict

_HEADLINES = {
    Status.CORRECT: "Correct: the outputs match the reference on every trial.",
    Status.INCORRECT: "Incorrect: the kernel runs, but its results differ from the reference.",
    Status.ILLEGAL: "Illegal: the computation must run in your own native kernels.",
    Status.COMPILE_ERROR: "Compile error: the code does not build.",
    Status.RUNTIME_ERROR: "Runtime error: the code builds, but it does not run without a fault.",
    Status.NO_CANDIDATE: "No candidate: the answer holds no code to judge.",
    Status.UNSUPPORTED: "Not judged: this backend does not support a feature that the code uses.",
}
_CUT = " [...]"
# Terminal sequences, control characters but newline and tab, and characters that reorder or hide text.
_CONTROL = re.compile(
    r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
)
_CHAT_MARK = re.compile(r"<(?=\||/?(?:think|s|im_start|im_end|tool_call|tool_response)>)")


@dataclass(frozen=True)
class _Block:
    """A line of ours and, below it, quoted text of the candidate's making."""

    title: str
    quote: str = ""


def feedback(verdict: Verdict, code: str | None = None, config: FeedbackConfig | None = None) -> str:
    """What a model should be told about its answer, at most `config.characters` characters.

    `code` is the candidate's own file; with it, places are shown with the lines around them. The same verdict and code
    always give the same text.
    """
    config = config or FeedbackConfig()
    lines = code.splitlines() if code else []
    parts: list[str] = []
    room = config.characters
    for block in _blocks(verdict, lines, config):
        text = _fitted(block, room - (2 if parts else 0))
        if not text:
            break
        room -= len(text) + (2 if parts else 0)
        parts.append(text)
    return "\n\n".join(parts)


def plain(text: str, width: int | None = None) -> str:
    """Untrusted text without control characters and chat marks; each line at most `width` characters."""
    clean = _CHAT_MARK.sub("< ", _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ")))
    clean = clean.encode("utf-8", "replace").decode("utf-8")  # lone surrogates do not travel
    if width is None:
        return clean
    return "\n".join(line if len(line) <= width else line[: width - len(_CUT)] + _CUT for line in clean.split("\n"))


def fenced(text: str) -> str:
    """Text in a fence that is longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _fitted(block: _Block, room: int) -> str:
    """The block within `room` characters: its quote is cut first; empty where not even the title fits."""
    title = block.title if len(block.title) <= room else ""
    if not title or not block.quote:
        return title
    text = f"{title}\n{fenced(block.quote)}"
    if len(text) <= room:
        return text
    # The fence of a shorter text is never longer, so one cut is enough.
    keep = len(block.quote) - (len(text) - room) - len(_CUT)
    return f"{title}\n{fenced(block.quote[:keep] + _CUT)}" if keep > 40 else title


def _blocks(verdict: Verdict, code: list[str], config: FeedbackConfig) -> Iterator[_Block]:
    width = config.line_characters
    told_below = any(t.mismatch for t in verdict.trials) and verdict.status is Status.INCORRECT
    reason = "" if told_below else _one_line(verdict.reason, 2 * width)
    yield _Block(f"{_HEADLINES[verdict.status]}\n{reason}" if reason else _HEADLINES[verdict.status])
    for hit in verdict.rules:
        evidence = f" Evidence: {_one_line(hit.evidence, width)}" if hit.evidence else ""
        title = f"Broken rule {hit.rule}{_at(hit.place)}: {_one_line(hit.message, 2 * width)}{evidence}"
        yield _Block(title, excerpt(hit.place, code, config))
    yield from _diagnostic_blocks(verdict.diagnostics, code, config)
    yield from _finding_blocks(verdict.findings, code, config)
    yield from _trial_blocks(verdict, config)
    if verdict.exception:
        yield _Block("The candidate's Python raised:", plain(_last(verdict.exception, 1500), width))
    if verdict.output_tail and verdict.status is not Status.CORRECT:
        yield _Block("End of what it printed:", plain(_last(verdict.output_tail, 800), width))
    for sentence in verdict.profile.advice if verdict.profile else ():
        yield _Block(f"Profile: {_one_line(sentence, 3 * width)}")
    yield from _context_blocks(verdict, width)


def _diagnostic_blocks(diagnostics: Iterable[Diagnostic], code: list[str], config: FeedbackConfig) -> Iterator[_Block]:
    errors = [d for d in diagnostics if d.severity == "error"]
    for error in errors[: config.diagnostics]:
        title = f"error{_at(error.place)}: {_one_line(error.message, 2 * config.line_characters)}"
        yield _Block(title, excerpt(error.place, code, config))
    if len(errors) > config.diagnostics:
        yield _Block(f"({len(errors) - config.diagnostics} more errors; the first ones come first.)")


def _finding_blocks(findings: Iterable[Finding], code: list[str], config: FeedbackConfig) -> Iterator[_Block]:
    ordered = sorted(findings, key=lambda f: f.severity == "warning")  # stable: errors first
    for finding in ordered[: config.findings]:
        yield _Block(_finding_title(finding, config.line_characters), _finding_quote(finding, code, config))
    if len(ordered) > config.findings:
        yield _Block(f"({len(ordered) - config.findings} more findings.)")


def _finding_title(finding: Finding, width: int) -> str:
    word = finding.kind.value.replace("_", " ")
    label = word if finding.severity == "error" else f"warning, {word}"
    where = []
    if finding.kernel:
        where.append(f"kernel {_one_line(finding.kernel, 80)}")
    if finding.block and finding.thread:
        where.append(f"block {triple(finding.block)}, thread {triple(finding.thread)}")
    if finding.other:
        with_thread = f" by thread {triple(finding.other_thread)}" if finding.other_thread else ""
        where.append(f"other access{_at(finding.other)}{with_thread}")
    if finding.count > 1:
        where.append(f"seen {finding.count} times")
    tail = f" ({'; '.join(where)})" if where else ""
    return f"{label}{_at(finding.place)}: {_one_line(finding.message, 2 * width)}{tail}"


def _finding_quote(finding: Finding, code: list[str], config: FeedbackConfig) -> str:
    here = excerpt(finding.place, code, config)
    if finding.other is None or finding.other == finding.place:
        return here
    there = excerpt(finding.other, code, config)
    return f"{here}\n  ...\n{there}" if here and there else here or there


_OTHER_INPUTS = {
    "signs": "inputs with other signs than get_inputs makes",
    "tenth": "a tenth of the inputs that get_inputs makes",
    "tenfold": "ten times the inputs that get_inputs makes",
}

_OTHER_WEIGHTS = " with other weights than a model begins with (those that are ones or zeros had other values)"


def _trial_blocks(verdict: Verdict, config: FeedbackConfig) -> Iterator[_Block]:
    failed = [t for t in verdict.trials if not t.passed]
    first = next((t for t in failed if t.mismatch), None)
    if failed and verdict.status is Status.INCORRECT:
        which = ", ".join(str(t.index) for t in failed)
        yield _Block(f"{len(failed)} of {len(verdict.trials)} trials on fresh inputs failed (trial {which}).")
    if first and first.mismatch:
        yield _Block(_mismatch_text(first, first.mismatch, config.line_characters))


def _mismatch_text(trial: Trial, mismatch: Mismatch, width: int) -> str:
    schedule = f" (threads ran in the order: {_one_line(trial.schedule, 40)})" if trial.schedule else ""
    other = f" on {_OTHER_INPUTS[trial.inputs]}" if trial.inputs in _OTHER_INPUTS else ""
    other += _OTHER_WEIGHTS if trial.weights == "other" else ""
    lines = [f"Mismatch{other}{schedule}: {_one_line(mismatch.message, 4 * width)}"]
    for index, got, expected in mismatch.examples:
        lines.append(f"  {mismatch.output}{list(index)}: got {_number(got)}, expected {_number(expected)}")
    return "\n".join(lines)


def _number(value: int | float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.6g}"


def _context_blocks(verdict: Verdict, width: int) -> Iterator[_Block]:
    if verdict.launches:
        yield _Block("Kernels launched:", "\n".join(_launch(k) for k in verdict.launches[:8]))
    if verdict.reductions and verdict.status is not Status.CORRECT:
        sizes = ", ".join(map(reduced_size, verdict.reductions[:8]))
        yield _Block(f"Run with smaller sizes than the task's: {_one_line(sizes, 2 * width)}.")
    for warning in verdict.warnings[:4]:
        yield _Block(f"Warning: {_one_line(warning, 2 * width)}")


def reduced_size(reduction: Reduction) -> str:
    """One size of the task that was made smaller; one without a name of its own by its line."""
    line = f" (line {reduction.line} of the task)" if reduction.line and reduction.name == "literal" else ""
    return f"{reduction.name} {reduction.original} -> {reduction.used}{line}"


def _launch(launch: Launch) -> str:
    shape = f"grid {triple(launch.grid)} block {triple(launch.block)} shared {launch.shared_bytes} B"
    return f"{_one_line(launch.kernel, 80)} {shape} x{launch.count}"


def excerpt(place: Place | None, code: list[str], config: FeedbackConfig) -> str:
    """The line at a place with a mark, the lines around it, and a caret under the column where it is known.

    `code` is the candidate's own file by lines; a place elsewhere shows its own text. Empty where nothing is known.
    """
    if place is None or place.line is None:
        return ""
    if place.file != "candidate" or not 1 <= place.line <= len(code):
        return f"> {place.line:>4} | {plain(place.text, config.line_characters)}" if place.text else ""
    low = max(1, place.line - config.context_lines)
    high = min(len(code), place.line + config.context_lines)
    shown = []
    for number in range(low, high + 1):
        mark = ">" if number == place.line else " "
        shown.append(f"{mark} {number:>4} | {_one_line_raw(code[number - 1], config.line_characters)}")
        if number == place.line and place.column and place.column <= config.line_characters - len(_CUT):
            # A tab before the column is shown as four characters.
            before = plain(code[number - 1][: place.column - 1])
            shown.append(f"       | {' ' * len(before)}^")
    return "\n".join(shown)


def _one_line_raw(text: str, width: int) -> str:
    return plain(text, width).replace("\n", " ").rstrip()


def _one_line(text: str, width: int) -> str:
    """Untrusted text within a sentence of ours: one line, and no backticks that could open a fence."""
    return plain(" ".join(text.split()), width).replace("```", "'''")


def _at(place: Place | None) -> str:
    if place is None:
        return ""
    if place.line is None:
        return f" in {_one_line(place.file, 80)}"
    return f" at line {place.line}" if place.file == "candidate" else f" at {_one_line(str(place), 80)}"


def triple(value: tuple[int, int, int]) -> str:
    """Coordinates of a block or thread, as messages of the run time write them too."""
    return f"({value[0]}, {value[1]}, {value[2]})"


def _last(text: str, limit: int) -> str:
    return text if len(text) <= limit else _CUT.strip() + " " + text[-limit:]
