"""What people and programs see of a verdict: a report that fits any terminal, and JSON that any parser reads."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console
from support.verdicts import CODE, PLACE, full, out_of_bounds, verdict

from mooreeval.render import found_line, print_report, strict_json
from mooreeval.verdict import Diagnostic, Place, Status, Verdict


def shown(
    judged: Verdict, *, width: int = 100, code: str | None = CODE, verbose: bool = False, colour: bool = False
) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=width, force_terminal=colour, highlight=False)
    print_report(console, judged, code, verbose=verbose)
    return stream.getvalue()


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_every_status_fits_every_width(status, width):
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
