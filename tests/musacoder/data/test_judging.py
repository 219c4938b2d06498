"""Judgements are made once, written at once, and a wrong program gives none of its mutants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.programs import SayingJudge, gallery_programs

from mooreeval.errors import NotJudged, UsageError
from mooreeval.verdict import Status
from musacoder.data.io import Judgement, read_records
from musacoder.data.judging import FILE, JudgingConfig, drawn, judge_programs, merged
from musacoder.data.mutations import RULES

PROGRAMS = gallery_programs("relu", "matmul", "row_softmax")
RIGHT = {p.candidate_code for p in PROGRAMS}


def as_planted(code: str) -> tuple[Status, dict[str, Any]]:
    return (Status.CORRECT if code in RIGHT else Status.INCORRECT), {}


def kept(folder: Path) -> list[Judgement]:
    return list(read_records(Judgement, folder / FILE))


def test_each_program_is_judged_itself_and_then_mutants_of_different_kinds(tmp_path: Path):
    report = judge_programs(PROGRAMS, tmp_path, SayingJudge(as_planted), JudgingConfig(mutants=4))
    for program in PROGRAMS:
        of_it = [j for j in kept(tmp_path) if j.program_hash == program.program_hash]
        kinds = [RULES[j.rules[0]].kind for j in of_it if len(j.rules) == 1]
        assert [j.code for j in of_it if not j.rules] == [program.candidate_code]
        assert len(kinds) == len(set(kinds)) == 4
    assert report.judged == len(kept(tmp_path)) and report.statuses["correct"] == 3


def test_what_is_judged_is_never_asked_for_again(tmp_path: Path):
    first, second = SayingJudge(as_planted), SayingJudge(as_planted)
    one = judge_programs(PROGRAMS, tmp_path, first, JudgingConfig())
    again = judge_programs(PROGRAMS, tmp_path, second, JudgingConfig())
    assert len(first.asked) == one.judged == again.kept and not second.asked and not again.judged


def test_an_interrupted_run_goes_on_and_its_torn_line_is_judged_again(tmp_path: Path):
    whole = judge_programs(PROGRAMS, tmp_path, SayingJudge(as_planted), JudgingConfig(workers=1))
    text = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(text[: len(text) * 2 // 3])
    rest = judge_programs(PROGRAMS, tmp_path, SayingJudge(as_planted), JudgingConfig(workers=1))
    assert rest.judged > 0 and rest.kept > 0
    assert {j.code for j in kept(tmp_path)} == {j.code for j in kept(tmp_path)} and len(kept(tmp_path)) == whole.judged
    assert sorted(text.splitlines()) == sorted((tmp_path / FILE).read_bytes().splitlines())


def test_a_program_that_is_not_correct_is_named_and_not_mutated(tmp_path: Path):
    judge = SayingJudge(lambda _code: (Status.INCORRECT, {}))
    report = judge_programs(PROGRAMS, tmp_path, judge, JudgingConfig())
    assert len(judge.asked) == len(PROGRAMS) == len(report.wrong_programs)
    assert all("is incorrect" in line for line in report.wrong_programs)


def test_what_the_judge_fails_at_is_named_and_asked_again_next_time(tmp_path: Path):
    broken = SayingJudge(lambda code: as_planted(code) if code in RIGHT else NotJudged("the disk is full"))
    report = judge_programs(PROGRAMS, tmp_path, broken, JudgingConfig(mutants=2))
    assert len(report.not_judged) >= 6 and all("the disk is full" in line for line in report.not_judged)
    assert judge_programs(PROGRAMS, tmp_path, SayingJudge(as_planted), JudgingConfig(mutants=2)).judged >= 6


def test_a_draw_depends_on_seed_and_programs_and_not_on_their_order():
    assert drawn(PROGRAMS, 2, 1) == drawn(PROGRAMS[::-1], 2, 1)
    assert len({tuple(p.program_hash for p in drawn(PROGRAMS, 2, seed)) for seed in range(8)}) > 1


def test_two_changes_are_merged_only_where_they_touch_different_lines():
    assert merged("a\nb\nc", "A\nb\nc", "a\nb\nC") == "A\nb\nC"
    assert merged("a\nb", "A\nb", "B\nb") is None
    assert merged("a\nb", "a", "a\nc") is None


def test_a_damaged_line_is_named_with_its_file(tmp_path: Path):
    (tmp_path / FILE).write_text('{"schema_version": 1, "program_hash": "x"}\n', encoding="utf-8")
    with pytest.raises(UsageError, match=r"judgements.jsonl, line 1 is no Judgement: code"):
        judge_programs(PROGRAMS, tmp_path, SayingJudge(as_planted), JudgingConfig())
