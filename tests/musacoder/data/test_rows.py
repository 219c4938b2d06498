"""From programs to rows: of every class that can be made, the same each time, and whole or not at all."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.programs import SayingJudge, gallery_programs
from support.verdicts import out_of_bounds

from mooreeval.errors import UsageError
from mooreeval.verdict import FindingKind, Launch, RuleHit, Shape, Status, Trial
from musacoder.data import author
from musacoder.data.asking import Asking
from musacoder.data.io import append, read_programs, read_records, read_rows
from musacoder.data.judging import JudgingConfig
from musacoder.data.mutations import RULES, mutants_of_task
from musacoder.data.records import Program, RowKind
from musacoder.data.rewrites import kernels, second_answers
from musacoder.data.rows import FILE, REWRITES, RowsConfig, make_rows, programs_of_rows
from musacoder.prompts import PromptConfig
from musacoder.runlog.lines import Lines

COMPACT = Asking(PromptConfig(templates=Path("compact")))
MATMUL, RELU = gallery_programs("matmul", "relu")
# Another right answer to the same task, which the scripted judge says to launch one kernel in place of two.
FUSED = RELU.model_copy(update={"candidate_code": RELU.candidate_code + "# fused\n"})
PROGRAMS = [RELU, MATMUL, FUSED]
CONFIG = RowsConfig(judging=JudgingConfig(mutants=3))

PLANTED = {m.code: m.rule.planted for p in PROGRAMS for m in mutants_of_task(p.task_code, p.candidate_code)}

_SHOWING = {
    "compile_error": (Status.COMPILE_ERROR, {}),
    "fallback": (Status.ILLEGAL, {"rules": (RuleHit(rule="torch_compute", message="PyTorch computes"),)}),
    "no_launch": (Status.ILLEGAL, {"rules": (RuleHit(rule="no_kernel_launched", message="none ran"),)}),
    "wrong_values": (Status.INCORRECT, {}),
}


def as_planted(code: str) -> tuple[Status, dict[str, Any]]:
    """The verdict that shows what was planted; a right program's with a launch for each kernel."""
    for program in PROGRAMS:
        if code == program.candidate_code:
            names = ("k",) if program is FUSED else ("k", "l")
            each = tuple(Launch(kernel=n, grid=(9, 1, 1), block=(256, 1, 1), shared_bytes=0, count=5) for n in names)
            shapes = (Shape(name="input[0]", shape=(7, 9), dtype="float32"),)
            trials = tuple(Trial(index=i, seed=i, passed=True) for i in range(5))
            return Status.CORRECT, {"launches": each, "shapes": shapes, "trials": trials}
    planted = PLANTED.get(code, "compile_error")
    finding = out_of_bounds(kind=planted) if planted in set(FindingKind) else out_of_bounds()
    return _SHOWING.get(planted, (Status.RUNTIME_ERROR, {"findings": (finding,)}))


def programs_file(folder: Path, programs: list[Program]) -> Path:
    lines = Lines(folder / "programs.jsonl")
    append(lines, programs)
    lines.close()
    return lines.path


def test_programs_give_rows_of_every_class_but_what_needs_a_device(tmp_path: Path):
    report = make_rows(programs_file(tmp_path, PROGRAMS), tmp_path, COMPACT, CONFIG, SayingJudge(as_planted))
    rows = list(read_rows(tmp_path / FILE))
    kinds = Counter(r.kind for r in rows)
    assert kinds[RowKind.GENERATION] == 3 and kinds[RowKind.OPTIMISE] == 1 and kinds[RowKind.QUESTION] >= 4
    assert kinds[RowKind.REVIEWER] >= 6 and kinds[RowKind.REPAIR] >= 6 and not kinds[RowKind.PROFILING]
    assert report.rows == len(rows) and report.kinds[RowKind.GENERATION] == pytest.approx(3 / len(rows))
    assert report.families == Counter(r.family for r in rows) and not report.judging.not_judged


def test_rows_are_the_same_each_time_and_nothing_is_judged_again(tmp_path: Path):
    file, judge = programs_file(tmp_path, PROGRAMS), SayingJudge(as_planted)
    make_rows(file, tmp_path, COMPACT, CONFIG, judge)
    first, asked = (tmp_path / FILE).read_bytes(), len(judge.asked)
    make_rows(file, tmp_path, COMPACT, CONFIG, judge)
    assert (tmp_path / FILE).read_bytes() == first and len(judge.asked) == asked
    make_rows(file, tmp_path, COMPACT, CONFIG)  # without any judge
    assert (tmp_path / FILE).read_bytes() == first


def test_other_prompts_need_no_judge(tmp_path: Path):
    file = programs_file(tmp_path, PROGRAMS)
    make_rows(file, tmp_path, COMPACT, CONFIG, SayingJudge(as_planted))
    make_rows(file, tmp_path, Asking(PromptConfig(example=False)), CONFIG)
    assert all(r.prompt[0].role == "system" for r in read_rows(tmp_path / FILE))


def test_derived_reasoning_goes_before_answers_where_prompts_ask_for_it(tmp_path: Path):
    file = programs_file(tmp_path, [RELU])
    asking = Asking(PromptConfig(example=False), reason=lambda program: f"1. of {program.family}")
    make_rows(file, tmp_path, asking, CONFIG)
    (row, *_) = read_rows(tmp_path / FILE)
    assert (
        row.completion[0].content.startswith("<think>\n1. of elementwise\n</think>") and row.facts["reasoned"] is True
    )


def test_what_nothing_verified_and_what_has_no_room_is_left_out_and_counted(tmp_path: Path):
    unjudged = MATMUL.model_copy(update={"status": None})
    small = Asking(PromptConfig(templates=Path("compact"), tokens=256), count_tokens=lambda _m: 257)
    report = make_rows(programs_file(tmp_path, [RELU, unjudged]), tmp_path, small, CONFIG)
    assert report.left_out == {"a program that nothing verified": 1, "a task that has no room in a prompt": 1}


def test_an_interrupted_writing_leaves_the_old_rows(tmp_path: Path):
    file = programs_file(tmp_path, PROGRAMS)
    make_rows(file, tmp_path, COMPACT, CONFIG)
    before = (tmp_path / FILE).read_bytes()

    def interrupted(_program: Program) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_rows(file, tmp_path, Asking(reason=interrupted), CONFIG)
    assert (tmp_path / FILE).read_bytes() == before


@pytest.mark.parametrize(
    ("text", "told"),
    [(None, "no such file"), ("", "holds no program"), ("{}\n", "line 1 is no Program: task_code"),
     ('{"schema_version": 9}\n', "written by a newer version"), ("no json\n", "line 1 is not valid JSON")],
)  # fmt: skip
def test_a_file_that_holds_no_programs_is_one_clear_line(tmp_path: Path, text: str | None, told: str):
    path = tmp_path / "programs.jsonl"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=told) as refused:
        read_programs(path)
    assert "\n" not in str(refused.value)


def test_every_rule_has_a_verdict_that_shows_it():
    from musacoder.data.repair import _SHOWN_BY

    assert {rule.planted for rule in RULES.values() if rule.kind != "harmless"} == set(_SHOWN_BY)


# ------------------------------------------------------------------------------------------------ author's programs
def written(count: int) -> list[Program]:
    verified = {"status": "correct", "judged_by": "trusted batch"}
    return [author.write(seed, length=3).model_copy(update=verified) for seed in range(count)]


def as_the_author_says(code: str) -> tuple[Status, dict[str, Any]]:
    """Right, with a launch for each kernel that the text launches."""
    each = tuple(
        Launch(kernel=f"k{i}", grid=(9, 1, 1), block=(256, 1, 1), shared_bytes=0, count=5)
        for i in range(code.count("<<<"))
    )
    return Status.CORRECT, {"launches": each, "trials": tuple(Trial(index=i, seed=i, passed=True) for i in range(5))}


def test_the_authors_programs_get_second_answers_in_another_number_of_kernels():
    programs = written(6)
    seconds = list(second_answers(programs))
    tasks = {p.task_hash: p for p in programs}
    assert len(seconds) >= 4 and all(kernels(s) != kernels(tasks[s.task_hash]) for s in seconds)
    assert all(s.status is None for s in seconds) and seconds == list(second_answers(programs))


def test_second_answers_become_rewrites_once_the_judge_called_them_correct(tmp_path: Path):
    file, config = programs_file(tmp_path, written(4)), RowsConfig(judging=JudgingConfig(mutants=0))
    make_rows(file, tmp_path, COMPACT, config, SayingJudge(as_the_author_says))
    rewrites = [r for r in read_rows(tmp_path / FILE) if r.kind == RowKind.OPTIMISE]
    assert rewrites and all(r.facts["measured"] is False for r in rewrites)
    assert all(r.facts["launches_before"] > r.facts["launches_after"] for r in rewrites)
    known = {p.program_hash for p in programs_of_rows(file, tmp_path)}
    assert all(r.facts["program"] in known for r in read_rows(tmp_path / FILE)) and len(known) > 4


def test_second_answers_that_are_wrong_are_named_and_used_nowhere(tmp_path: Path):
    programs = written(3)
    right = {p.candidate_code for p in programs}
    judge = SayingJudge(lambda code: as_the_author_says(code) if code in right else (Status.INCORRECT, {}))
    config = RowsConfig(judging=JudgingConfig(mutants=0))
    report = make_rows(programs_file(tmp_path, programs), tmp_path, COMPACT, config, judge)
    assert report.judging.wrong_programs and not list(read_records(Program, tmp_path / REWRITES))
    assert not any(r.kind == RowKind.OPTIMISE for r in read_rows(tmp_path / FILE))
