"""Rows of repair show a fault that the judge showed, tell it exactly, and end with a verified answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.programs import gallery_programs
from support.verdicts import out_of_bounds, verdict
from support.writing import ToldModel, Writing, answer

from mooreeval.config import load_config
from mooreeval.feedback import feedback
from mooreeval.task import make_task
from mooreeval.verdict import FindingKind, RuleHit, Status
from mooreeval.verify import LocalVerifier
from musacoder.data.asking import Asking
from musacoder.data.io import Judgement, read_records
from musacoder.data.judging import FILE, JudgingConfig, judge_programs, merged
from musacoder.data.mutations import mutants_of_task
from musacoder.data.records import Program, RowKind
from musacoder.data.repair import cause, changed_lines, rows_of_mutants, rows_of_run, shows_its_fault
from musacoder.prompts import PromptConfig
from musacoder.suites import SuiteTask

RELU = gallery_programs("relu")[0]
SOFTMAX = gallery_programs("row_softmax")[0]
COMPACT = Asking(PromptConfig(templates=Path("compact")))


def judged(program: Program, code: str, status: Status, *rules: str, **fields: Any) -> Judgement:
    return Judgement(program_hash=program.program_hash, rules=rules, code=code, verdict=verdict(status, **fields))


def itself(program: Program) -> Judgement:
    return judged(program, program.candidate_code, Status.CORRECT)


def mutant(program: Program, rule: str) -> str:
    return next(m.code for m in mutants_of_task(program.task_code, program.candidate_code) if m.rule.name == rule)


FALLBACK = judged(
    RELU, mutant(RELU, "result_by_operator"), Status.ILLEGAL, "result_by_operator",
    rules=(RuleHit(rule="torch_compute", message="PyTorch computes"),),
)  # fmt: skip


def test_only_a_verdict_that_shows_what_was_planted_becomes_a_sample():
    code = mutant(SOFTMAX, "barrier_removed")
    race = out_of_bounds(kind=FindingKind.RACE)
    shown = judged(SOFTMAX, code, Status.RUNTIME_ERROR, "barrier_removed", findings=(race,))
    other = judged(SOFTMAX, code, Status.RUNTIME_ERROR, "barrier_removed", findings=(out_of_bounds(),))
    missed = judged(SOFTMAX, code, Status.CORRECT, "barrier_removed")
    assert shows_its_fault(shown) and not shows_its_fault(other) and not shows_its_fault(missed)
    assert not list(rows_of_mutants(SOFTMAX, [itself(SOFTMAX), other, missed], COMPACT))
    assert len(list(rows_of_mutants(SOFTMAX, [itself(SOFTMAX), shown], COMPACT))) == 2


def test_a_program_that_the_judge_did_not_call_correct_gives_no_rows():
    wrong = judged(RELU, RELU.candidate_code, Status.INCORRECT)
    assert not list(rows_of_mutants(RELU, [wrong, FALLBACK], COMPACT)) and not list(
        rows_of_mutants(RELU, [FALLBACK], COMPACT)
    )


def test_a_reviewer_is_not_told_the_verdict_and_answers_with_cause_and_right_file():
    (reviewer,) = [r for r in rows_of_mutants(RELU, [itself(RELU), FALLBACK], COMPACT) if r.kind == RowKind.REVIEWER]
    asked, answered = reviewer.prompt[-1].content, reviewer.completion[0].content
    assert FALLBACK.code.strip() in asked and RELU.task_code.strip() in asked and "llegal" not in asked
    assert answered.startswith("PyTorch computes") and RELU.candidate_code.strip() in answered
    assert reviewer.facts["kind"] == "fallback" and reviewer.facts["status"] == "illegal"


def test_a_repair_shows_the_judges_own_words_and_ends_with_the_verified_answer():
    full = Asking(PromptConfig(example=False))
    (repair,) = [r for r in rows_of_mutants(RELU, [itself(RELU), FALLBACK], full) if r.kind == RowKind.REPAIR]
    assert [t.role for t in repair.prompt] == ["system", "user", "assistant", "user"]
    assert feedback(FALLBACK.verdict, FALLBACK.code) in repair.prompt[-1].content
    answered = repair.completion[0].content
    assert answered.startswith("<think>\nPyTorch computes") and answered.endswith(
        f"```python\n{RELU.candidate_code.strip()}\n```"
    )


def test_what_has_no_room_in_a_prompt_is_no_row():
    small = Asking(PromptConfig(templates=Path("compact"), tokens=256))
    assert not list(rows_of_mutants(RELU, [itself(RELU), FALLBACK], small))


def test_two_faults_make_three_turns_of_which_the_second_mends_one():
    one, other = mutant(SOFTMAX, "barrier_removed"), mutant(SOFTMAX, "semicolon_missing")
    both = merged(SOFTMAX.candidate_code, one, other)
    assert both
    race = judged(
        SOFTMAX, one, Status.RUNTIME_ERROR, "barrier_removed", findings=(out_of_bounds(kind=FindingKind.RACE),)
    )
    double = judged(SOFTMAX, both, Status.COMPILE_ERROR, "semicolon_missing", "barrier_removed")
    rows = list(rows_of_mutants(SOFTMAX, [itself(SOFTMAX), race, double], COMPACT))
    (long,) = [r for r in rows if r.facts.get("turns") == 3]
    assert [t.role for t in long.prompt] == ["user", "assistant", "user", "assistant", "user"]
    assert both.strip() in long.prompt[1].content and one.strip() in long.prompt[3].content
    assert SOFTMAX.candidate_code.strip() in long.completion[0].content


def test_a_cause_names_the_lines_and_what_they_have_to_be():
    wrong = mutant(RELU, "bound_dropped")
    number = wrong.splitlines().index(next(line for line in wrong.splitlines() if "(x[" in line or "(in[" in line)) + 1
    told = cause(RELU, judged(RELU, wrong, Status.INCORRECT, "bound_dropped"))
    assert told.startswith("It leaves out an operation of the task: line ")
    assert f"line {number}, `{wrong.splitlines()[number - 1].strip()}`" in told


@pytest.mark.parametrize(
    ("wrong", "right", "told"),
    [
        ("a\nb\n", "a\nc\n", ": line 2, `b`, has to be `c`."),
        ("a\n", "a\n__syncthreads();\n", ": before line 2 belongs `__syncthreads();`."),
        ("a\nb\nc\n", "a\nc\n", ": line 2, `b`, goes."),
        ("a\n", "a\n", "."),
        ("a\nx\nb\nx\nc\nx\nd\nx\n", "a\nb\nc\nd\n", "; and 1 more places."),
    ],
)
def test_changed_lines_are_told_in_words(wrong: str, right: str, told: str):
    assert changed_lines(wrong, right).endswith(told)


# ------------------------------------------------------------------------------------------------- a policy's failures
def run_of(folder: Path, answers: list[str], turns: int) -> tuple[Writing, Program]:
    """A finished run of one task whose i-th answer begins with the i-th first line."""
    asked = iter(answers)
    task = make_task("task0", RELU.task_code)
    writing = Writing(
        folder, ToldModel(lambda _messages, _seed: answer(next(asked))), tasks=[SuiteTask(task)], samples=1, turns=turns
    )
    writing.complete()
    return writing, RELU.model_copy(update={"task_code": task.code})


def test_a_policys_failure_ends_with_an_answer_of_the_pool(tmp_path: Path):
    writing, program = run_of(tmp_path / "run", ["verdict: incorrect"], turns=1)
    (repair,) = rows_of_run(writing.complete(), {program.task_hash: [program]}, COMPACT)
    assert "# verdict: incorrect" in repair.prompt[-2].content
    assert program.candidate_code.strip() in repair.completion[0].content
    assert repair.source.startswith("policy:") and repair.facts["own_answer"] is False


def test_a_sample_that_repaired_itself_is_its_own_trajectory(tmp_path: Path):
    writing, program = run_of(tmp_path / "run", ["verdict: compile_error", "verdict: correct"], turns=2)
    (repair,) = rows_of_run(writing.complete(), {program.task_hash: [program]}, COMPACT)
    assert "# verdict: correct" in repair.completion[0].content and repair.facts["own_answer"] is True
    assert "# verdict: compile_error" in repair.prompt[-2].content


def test_a_run_of_unknown_tasks_or_without_failures_gives_no_rows(tmp_path: Path):
    failed, _ = run_of(tmp_path / "failed", ["verdict: incorrect"], turns=1)
    right, program = run_of(tmp_path / "right", ["verdict: correct"], turns=1)
    assert not list(rows_of_run(failed.complete(), {}, COMPACT))
    assert not list(rows_of_run(right.complete(), {program.task_hash: [program]}, COMPACT))


# ----------------------------------------------------------------------------------------------------------- for real
@pytest.mark.slow
def test_rows_of_mutants_that_the_simulator_judged(tmp_path: Path):
    with LocalVerifier(load_config(settings=["backend=simulator", "seed=5"])) as verifier:
        report = judge_programs([RELU, SOFTMAX], tmp_path, verifier, JudgingConfig(mutants=3), close=verifier.close)
    judgements = list(read_records(Judgement, tmp_path / FILE))
    assert not report.wrong_programs and not report.not_judged
    rows = [
        r
        for p in (RELU, SOFTMAX)
        for r in rows_of_mutants(p, [j for j in judgements if j.program_hash == p.program_hash], COMPACT)
    ]
    right = {p.program_hash: p.candidate_code.strip() for p in (RELU, SOFTMAX)}
    assert {r.kind for r in rows} == {RowKind.REVIEWER, RowKind.REPAIR}
    assert all(right[str(r.facts["program"])] in r.completion[0].content for r in rows)
    assert all(r.facts["status"] != "correct" and r.facts["evidence"] == "emulation" for r in rows)
    assert 3 in {r.facts["turns"] for r in rows}
