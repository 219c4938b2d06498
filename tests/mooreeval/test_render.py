"""What people and programs see of a verdict: a report that fits any terminal, and JSON that any parser reads."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console
from support.verdicts import CODE, PLACE, full, out_of_bounds, verdict

from mooreeval.render import found_line, print_report, strict_json
from mooreeval.verdict import Diagnostic, KernelProfile, Place, Profile, Reduction, Status, Timing, Verdict

LONG = "x" * 300


def shown(
    judged: Verdict,
    *,
    width: int | None = None,
    code: str | None = CODE,
    verbose: bool = False,
    file_name: str | None = None,
) -> str:
    """The report as a terminal of that width shows it, without its colours; without a width, as a pipe gets it."""
    stream = io.StringIO()
    console = Console(
        file=stream, width=width or 80, force_terminal=width is not None, color_system=None, highlight=False
    )
    print_report(console, judged, code, verbose=verbose, file_name=file_name)
    return stream.getvalue()


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_every_status_fits_every_terminal(status, width):
    text = shown(full(status), width=width, verbose=True)
    assert max(len(line) for line in text.splitlines()) <= width
    assert status.value.split("_")[0].upper() in text
    assert "\x1b" not in text


def test_the_evidence_is_shown_with_its_lines():
    text = shown(full(Status.RUNTIME_ERROR), width=120)
    for words in (
        "out of bounds at line 7",
        ">    7 | ",
        "block (3, 0, 0), thread (232, 0, 0)",
        "seen 5 times",
        "'foo' was not declared",
        "RuntimeError: boom",
        "hello from the kernel",
        "batch_size 4096 -> 64",
        "4x1x1",
    ):
        assert words in text


@pytest.fixture(autouse=True)
def _no_width_asked_for(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.mark.parametrize("status", Status)
def test_a_pipe_gets_lines_that_are_neither_cut_nor_folded_nor_padded(status):
    frame = f'  File "candidate.py", line 7, in forward\n    {LONG}\n    ^^^^{LONG}\n'
    judged = full(status).model_copy(
        update={"reason": f"why {LONG}", "exception": f"{frame}E: {LONG}", "output_tail": f"out {LONG}"}
    )
    lines = shown(judged, code=CODE.replace("2 * x[i]", LONG), verbose=True).splitlines()
    for words in (f"why {LONG}", f"    {LONG}", f"    ^^^^{LONG}", f"E: {LONG}", f"out {LONG}", f"y[i] = {LONG};"):
        assert any(words in line for line in lines), words
    assert all(line == line.rstrip() for line in lines)


def test_a_terminal_does_not_fold_source_lines_and_carets():
    frame = f'  File "candidate.py", line 7, in forward\n    return {LONG}\n           {"^" * 300}\n'
    exception = f"{frame}E: {'word ' * 40}end"
    lines = shown(verdict(Status.RUNTIME_ERROR, exception=exception), width=80).splitlines()
    assert sum("xxx" in line for line in lines) == sum("^^^" in line for line in lines) == 1
    assert any(line.rstrip().endswith("end") for line in lines)


def test_what_the_reason_says_is_said_once():
    finding = out_of_bounds()
    reason = f"out of bounds at candidate:7 in scale: {finding.message}; then RuntimeError: boom"
    trace = '  File "candidate.py", line 3, in forward\n    f()\nRuntimeError: boom'
    text = shown(verdict(Status.RUNTIME_ERROR, reason=reason, findings=(finding,), exception=trace))
    assert text.count(finding.message) == text.count("RuntimeError: boom") == 1
    assert "out of bounds at line 7\n" in text
    assert 'File "candidate.py", line 3' in text
    trace = '  File "candidate.py", line 3, in forward\nTypeError: bad.\n    1. (a)\n\nInvoked with: 2'
    text = shown(verdict(Status.RUNTIME_ERROR, reason="TypeError: bad. 1. (a) Invoked with: 2", exception=trace))
    assert text.count("bad.") == text.count("(a)") == text.count("Invoked") == 1
    error = Diagnostic(severity="error", message="'foo' was not declared", place=PLACE)
    text = shown(verdict(Status.COMPILE_ERROR, reason=f"candidate:7: {error.message}", diagnostics=(error,)))
    assert text.count(error.message) == 1
    judged = full(Status.INCORRECT)
    mismatch = judged.trials[1].mismatch
    reason = f"1 of 2 trials pass, trial 1 fails; output: {mismatch.message}"
    text = shown(judged.model_copy(update={"reason": reason}))
    assert text.count(mismatch.message) == 1
    assert text.count("1 of 2 trials") == 1
    assert "mismatch in trial 1" in text


def test_places_are_in_the_file_that_the_reader_knows():
    finding = out_of_bounds(other=Place(file="candidate", line=6), other_thread=(1, 2, 3))
    judged = verdict(
        Status.RUNTIME_ERROR,
        reason="out of bounds at candidate:7 in scale: bad",
        findings=(finding,),
        warnings=("candidate:6: unused variable",),
        exception='  File "candidate.py", line 3, in forward\nE: why',
    )
    text = shown(judged, file_name="kernels/mine.py")
    for words in ("out of bounds at kernels/mine.py:7 in scale", "other access at kernels/mine.py:6, thread (1, 2, 3)"):
        assert words in text
    assert "warning  kernels/mine.py:6: unused" in text
    assert 'File "kernels/mine.py", line 3' in text
    assert "candidate" not in text
    assert "candidate:7" in shown(judged)


def test_a_size_without_a_name_is_told_with_its_line():
    sizes = (
        Reduction(name="literal", original=1023, used=767, line=9),
        Reduction(name="n", original=8, used=4, line=3),
    )
    text = shown(verdict(Status.INCORRECT, reductions=sizes))
    assert "literal 1023 -> 767 (line 9 of the task), n 8 -> 4\n" in text


def test_verbose_adds_what_it_takes_to_reproduce_the_verdict():
    judged = full(Status.INCORRECT)
    assert judged.task_hash not in shown(judged)
    text = shown(judged, verbose=True)
    for words in (judged.task_hash, judged.candidate_hash, judged.config_hash, "ab" * 16, "torch 2.13.0", "build 6.10"):
        assert words in text


def test_emulation_says_what_it_cannot_say():
    text = shown(verdict(Status.CORRECT, evidence="emulation"), width=160)
    assert "refutes" in text
    assert "speed" in text


def test_text_of_a_candidate_is_neither_markup_nor_terminal_control():
    hostile = "[bold red]x[/] [link=file:///]y[/link] \x1b[2J\x1b]0;z\x07 \u202e"
    place = Place(file=hostile, line=1, text=hostile)
    judged = verdict(
        Status.RUNTIME_ERROR,
        reason=hostile,
        findings=(out_of_bounds(message=hostile, kernel=hostile, place=place),),
        diagnostics=(Diagnostic(severity="error", message=hostile, place=place),),
        exception=hostile,
        output_tail=hostile,
        warnings=(hostile,),
    )
    text = shown(judged, width=200, code=hostile, verbose=True)
    assert "[bold red]x[/]" in text
    assert not any(c in text for c in "\x1b\x07\u202e")


def test_many_of_a_kind_are_counted_rather_than_listed():
    text = shown(verdict(Status.RUNTIME_ERROR, findings=tuple(out_of_bounds() for _ in range(40))))
    assert "34 more findings" in text


@pytest.mark.parametrize("status", Status)
def test_strict_json_reads_back_as_the_same_verdict(status):
    judged = full(status)

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    text = strict_json(judged, indent=2)
    json.loads(text, parse_constant=refuse)
    assert strict_json(Verdict.model_validate_json(text)) == strict_json(judged)


def test_strict_json_takes_text_that_is_no_unicode():
    assert json.loads(strict_json({"a": "x\udc80", "b": float("-inf")})) == {"a": "x?", "b": "-Infinity"}


def test_the_first_known_line_of_the_candidate_is_named():
    elsewhere = out_of_bounds(place=Place(file="torch", line=3))
    assert found_line(verdict(Status.RUNTIME_ERROR, findings=(elsewhere, out_of_bounds()))) == "line 7"
    assert found_line(verdict(Status.RUNTIME_ERROR, findings=(elsewhere,))) == ""
    error = Diagnostic(severity="error", message="m", place=PLACE)
    assert found_line(verdict(Status.COMPILE_ERROR, diagnostics=(error,))) == "line 7"
    first = Place(file="candidate", line=3)
    assert found_line(verdict(Status.RUNTIME_ERROR, findings=(out_of_bounds(),), place=first)) == "line 3"


def test_times_stand_beside_their_baselines_with_the_interval():
    timing = Timing(
        candidate_ms=0.125,
        eager_ms=0.25,
        compile_ms=0.1,
        eager_speedup_low=1.99,
        eager_speedup_high=2.01,
        candidate_device_ms=0.11,
        eager_device_ms=0.24,
        baseline_precision="float32 without TF32",
    )
    judged = verdict(Status.CORRECT, q=1.0, evidence="device", backend="cuda", timing=timing)
    text = shown(judged, width=100)
    assert ["PyTorch", "eager", "0.25", "2x"] in [line.split() for line in text.splitlines()]
    for words in (
        "candidate",
        "0.125",
        "PyTorch compile",
        "0.8x",
        "1.99x to 2.01x over eager",
        "alone 0.11 ms",
        "without TF32",
    ):
        assert words in text


def test_a_profile_shows_each_kernel_against_its_roofs_and_then_the_advice():
    kernel = KernelProfile(
        kernel="scale\x1b[31m", grid=(4, 1, 1), block=(256, 1, 1), launches=3, duration_us=12.345, limit="memory",
        memory_percent=87.4, occupancy_percent=61.0,
    )  # fmt: skip
    profile = Profile(kernels=(kernel,), launches=3, total_us=37.0, advice=("scale: memory-bound [bold]", "second"))
    text = shown(verdict(Status.CORRECT, profile=profile), width=100)
    assert ["scale", "12.3", "3", "87", "%", "?", "61", "%", "memory"] in [line.split() for line in text.splitlines()]
    assert "- scale: memory-bound [bold]\n  - second\n" in text
    assert "\x1b" not in text


def test_a_profile_that_is_missing_is_one_line():
    text = shown(verdict(Status.CORRECT, profile=Profile(missing="ncu is not on PATH")))
    assert "  no profile  ncu is not on PATH\n" in text
