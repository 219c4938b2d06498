"""The reward is the paper's formula, and what could not be judged has none."""

from __future__ import annotations

import pytest

from mooreeval.config import RewardConfig
from mooreeval.reward import faster, faster_confirmed, reward
from mooreeval.verdict import RuleHit, Status, TaskAdmission, Timing, Verdict


def verdict(status: Status, **fields) -> Verdict:
    if status is Status.CORRECT:
        fields.setdefault("q", 1.0)
    if status is Status.ILLEGAL:
        fields.setdefault("rules", (RuleHit(rule="no_kernel_launched", message="no kernel ran"),))
    if status is Status.UNSUPPORTED:
        fields.setdefault("unsupported_feature", "wmma")
    return Verdict(
        status=status, reason="r", backend="cuda", task_hash="t", candidate_hash="c", config_hash="f", **fields
    )


def timed(candidate_ms: float, eager_ms: float | None = None, compile_ms: float | None = None) -> Verdict:
    timing = Timing(candidate_ms=candidate_ms, eager_ms=eager_ms, compile_ms=compile_ms)
    return verdict(Status.CORRECT, timing=timing)


@pytest.mark.parametrize("status", [Status.NO_CANDIDATE, Status.COMPILE_ERROR, Status.RUNTIME_ERROR, Status.ILLEGAL])
def test_what_cannot_be_extracted_built_or_run_or_cheats_earns_minus_one(status):
    assert reward(verdict(status)) == -1


@pytest.mark.parametrize(("q", "expected"), [(0.0, -1.0), (0.2, -0.4), (0.5, -0.25), (0.8, -0.1)])
def test_partly_right_earns_between_minus_one_half_and_zero(q, expected):
    assert reward(verdict(Status.INCORRECT, q=q)) == pytest.approx(expected)


def test_unsupported_and_not_judged_are_unscored_and_not_zero():
    assert reward(verdict(Status.UNSUPPORTED)) is None
    assert reward(None) is None


def admitted(outcome: str) -> TaskAdmission:
    return TaskAdmission(outcome=outcome, reasons=() if outcome == "admitted" else ("zeros would pass",))


def test_values_on_a_refused_task_are_unscored_and_what_needs_no_values_is_scored():
    assert reward(verdict(Status.CORRECT, admission=admitted("refused"))) is None
    assert reward(verdict(Status.INCORRECT, q=0.0, admission=admitted("refused"))) is None
    assert reward(verdict(Status.ILLEGAL, admission=admitted("refused"))) == -1
    assert reward(verdict(Status.RUNTIME_ERROR, admission=admitted("refused"))) == -1


@pytest.mark.parametrize("outcome", ["admitted", "weak"])
def test_a_task_that_is_not_refused_is_scored_by_the_formula(outcome):
    assert reward(verdict(Status.CORRECT, admission=admitted(outcome))) == 1
    assert reward(verdict(Status.INCORRECT, q=0.2, admission=admitted(outcome))) == pytest.approx(-0.4)


def test_correct_without_timing_earns_exactly_one():
    assert reward(verdict(Status.CORRECT)) == 1
    assert reward(timed(1.0)) == 1


@pytest.mark.parametrize(
    ("candidate_ms", "eager_ms", "expected"),
    [(1.0, 1.0, 1.0), (2.0, 1.0, 1.0), (1.0, 1.5, 1.25), (1.0, 2.0, 1.5), (1.0, 5.0, 3.0), (1.0, 100.0, 3.0)],
)
def test_speed_up_is_paid_from_one_up_to_the_ceiling(candidate_ms, eager_ms, expected):
    assert reward(timed(candidate_ms, eager_ms)) == pytest.approx(expected)


def test_the_constants_and_the_baseline_come_from_the_configuration():
    config = RewardConfig(lambda_speedup=2, v_max=0.5, baseline="compile")
    assert reward(timed(1.0, eager_ms=9.0, compile_ms=1.25), config) == pytest.approx(1.5)
    assert reward(timed(1.0, eager_ms=9.0, compile_ms=9.0), config) == pytest.approx(2.0)


def test_times_that_no_clock_gives_are_refused():
    with pytest.raises(ValueError, match="no speed-up"):
        reward(timed(0.0, eager_ms=1.0))


def test_faster_by_the_point_estimate_and_confirmed_by_the_intervals_end():
    def judged(eager_ms, low):
        timing = Timing(candidate_ms=1.0, eager_ms=eager_ms, eager_speedup_low=low, eager_speedup_high=2 * eager_ms)
        return verdict(Status.CORRECT, q=1.0, timing=timing)

    answers = [(faster(v, "eager"), faster_confirmed(v, "eager")) for v in (judged(1.11, 1.12), judged(1.11, 1.09))]
    assert answers == [(True, True), (True, False)]
    assert faster(judged(1.09, 1.08), "eager") is False
    assert faster(judged(1.11, 1.12), "compile") is faster_confirmed(judged(1.11, 1.12), "compile") is None
    assert faster(verdict(Status.INCORRECT, q=0.8), "eager") is False
