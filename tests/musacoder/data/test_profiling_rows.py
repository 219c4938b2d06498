"""Rows of measurements tell what was measured, by what, and never a time where nothing was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.programs import gallery_programs
from support.verdicts import verdict

from mooreeval.profile.read import read_profile
from mooreeval.verdict import Launch, Profile, Status, Timing, Trial
from musacoder.data.asking import Asking
from musacoder.data.profiling_rows import Measured, row_of_profile, rows_of_rewrites
from musacoder.data.records import RowKind
from musacoder.prompts import PromptConfig

# What ncu printed on a GPU, as the profiler's own tests read it: the format is what counts here, not the kernels.
RECORDED = (Path(__file__).parents[2] / "mooreeval" / "profile" / "data" / "with_tables.csv").read_text()
RELU, OTHER = gallery_programs("relu")[0], gallery_programs("relu")[0].model_copy(update={"candidate_code": "x = 1\n"})
COMPACT = Asking(PromptConfig(templates=Path("compact")))
FULL = Asking(PromptConfig(example=False))
TRIALS = tuple(Trial(index=i, seed=i, passed=True) for i in range(5))


def measured(program: Any = RELU, **fields: Any) -> Measured:
    return Measured(program, verdict(Status.CORRECT, **{"trials": TRIALS, "device": "Some GPU", **fields}))


def launched(program: Any, *names: str) -> Measured:
    each = tuple(Launch(kernel=n, grid=(9, 1, 1), block=(256, 1, 1), shared_bytes=0, count=5) for n in names)
    return measured(program, launches=each, device=None, evidence="emulation")


def timed(program: Any, candidate_ms: float, **fields: Any) -> Measured:
    fields = {"evidence": "device", "backend": "cuda", **fields}
    return measured(program, timing=Timing(candidate_ms=candidate_ms, eager_ms=2.0), **fields)


def test_a_recorded_profile_is_told_in_counters_and_answered_by_the_judges_rules():
    profile = read_profile(RECORDED, "", call_us=540.0)
    (row,) = row_of_profile(measured(profile=profile), COMPACT)
    asked, answered = row.prompt[-1].content, row.completion[0].content
    assert row.kind == RowKind.PROFILING and row.facts["device"] == "Some GPU" and row.facts["measured"] is True
    assert (
        "Nsight Compute measured on Some GPU" in asked
        and f"memory percent {profile.kernels[1].memory_percent}" in asked
    )
    assert answered.splitlines() == [f"- {sentence}" for sentence in profile.advice]
    assert not any(sentence in asked for sentence in profile.advice) and "limit " not in asked


def test_without_a_profile_there_is_no_row():
    assert not list(row_of_profile(measured(), COMPACT))
    assert not list(row_of_profile(measured(profile=Profile(missing="ncu is not installed")), COMPACT))


def test_the_faster_answer_is_the_rewrite_of_the_slower_one():
    (row,) = rows_of_rewrites([timed(OTHER, 1.5), timed(RELU, 0.5)], FULL)
    assert row.kind == RowKind.OPTIMISE and row.facts["program"] == RELU.program_hash
    assert row.facts["slow"] == OTHER.program_hash and (row.facts["before_ms"], row.facts["after_ms"]) == (1.5, 0.5)
    assert "x = 1" in row.prompt[-2].content and "1.5 ms" in row.prompt[-1].content
    assert "takes 0.5 ms, 3 times as fast" in row.completion[0].content
    assert RELU.candidate_code.strip() in row.completion[0].content


def test_what_is_hardly_faster_or_was_timed_elsewhere_is_no_rewrite():
    assert not list(rows_of_rewrites([timed(OTHER, 0.52), timed(RELU, 0.5)], FULL))
    assert not list(rows_of_rewrites([timed(OTHER, 1.5), timed(RELU, 0.5, device="Another GPU")], FULL))
    assert not list(rows_of_rewrites([timed(OTHER, 1.5), launched(RELU, "one")], FULL))


def test_without_a_device_fewer_launches_are_better_and_no_time_is_told():
    (row,) = rows_of_rewrites([launched(OTHER, "one", "two", "three"), launched(RELU, "all")], FULL)
    assert row.facts["measured"] is False and "before_ms" not in row.facts
    assert (row.facts["launches_before"], row.facts["launches_after"]) == (3, 1)
    told = row.completion[0].content
    assert "launches 3 kernels" in told and "One kernel" in told and " ms" not in told
    assert "speed is not known" in row.prompt[-1].content


def test_launches_that_cannot_be_told_by_the_forward_pass_are_not_compared():
    odd = Launch(kernel="k", grid=(9, 1, 1), block=(256, 1, 1), shared_bytes=0, count=7)
    assert not list(rows_of_rewrites([measured(OTHER, launches=(odd,)), launched(RELU, "all")], FULL))
