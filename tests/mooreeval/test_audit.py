"""Candidates built by a fast way are now and then judged again, built by the fullest."""

import pytest
from support.verdicts import out_of_bounds, verdict

from mooreeval.audit import Audit, told
from mooreeval.candidate import Candidate
from mooreeval.config import load_config
from mooreeval.task import make_task
from mooreeval.verdict import Status, Verdict
from mooreeval.verify import LocalVerifier

TASK = make_task("t", "class Model: pass\ndef get_inputs(): return []\n")


def test_the_share_is_kept_and_a_candidate_is_drawn_alike_every_time():
    audit = Audit(0.02)
    draws = [(k * 0x9E3779B97F4A7C15) % (1 << 63) for k in range(1, 20_001)]
    due = [audit.is_due(seed, ["slim"]) for seed in draws]
    assert sum(due) == pytest.approx(400, rel=0.1)
    assert due == [audit.is_due(seed, ["slim"]) for seed in draws]
    assert not any(audit.is_due(seed, tiers) for seed in draws for tiers in ([], ["full"], [""]))
    assert all(Audit(1.0).is_due(seed, ["full", "mini"]) for seed in draws[:100])


class Ways:
    """A toolchain of which only the ways to build count."""

    def __init__(self, tiers):
        self.tiers = tiers

    def fullest(self):
        return Ways(self.tiers[-1:])

    def use_fullest_alone(self):
        self.tiers = self.tiers[-1:]

    def close(self):
        pass


@pytest.fixture
def verifier(monkeypatch):
    """A verifier whose judgement depends on the way to build and on the candidate's text alone."""
    verifier = LocalVerifier(load_config(settings=["backend=simulator", "simulator.audit_share=1"]))
    ways = Ways(["mini", "slim", "full"])

    def judged(toolchain, task, candidate, _progress):
        way = toolchain.tiers[0]
        wrong = f"wrong by {way}" in candidate.code
        return Verdict(
            status=Status.COMPILE_ERROR if wrong else Status.CORRECT,
            q=None if wrong else 1.0,
            reason=way,
            backend="cuda",
            build_tiers=(way,),
            task_hash=task.task_hash,
            candidate_hash=candidate.candidate_hash,
            config_hash="c",
        )

    monkeypatch.setattr(verifier, "_toolchain", ways)
    monkeypatch.setattr(verifier, "_judge_with", judged)
    yield verifier
    verifier.close()


def judge(verifier, text):
    return verifier._judge(TASK, Candidate(text), lambda _stage: None)


def test_equal_verdicts_leave_the_fast_way_in_use(verifier):
    verdict = judge(verifier, "right")
    assert (verdict.reason, list(verdict.stage_seconds)) == ("mini", ["audit"])
    assert judge(verifier, "wrong by mini, wrong by full").status is Status.COMPILE_ERROR
    assert (verifier.audit.audited, verifier.audit.differences) == (2, [])
    assert judge(verifier, "right again").build_tiers == ("mini",)


def test_one_difference_takes_the_fast_ways_out_of_use_and_is_told(verifier):
    verdict = judge(verifier, "wrong by mini")
    assert (verdict.status, verdict.reason) == (Status.CORRECT, "full")
    assert any("built by mini the candidate was compile_error" in warning for warning in verdict.warnings)
    assert len(verifier.audit.differences) == 1
    assert judge(verifier, "wrong by mini once more").build_tiers == ("full",)
    assert verifier.audit.audited == 1  # what is built by the fullest way needs no audit


def test_a_fault_of_another_kind_or_at_another_line_is_a_difference_and_a_warning_is_none():
    fault = out_of_bounds()
    one, warned = (verdict(Status.RUNTIME_ERROR, findings=(fault, *more)) for more in ((), (WARNING,)))
    elsewhere = out_of_bounds(place=fault.place.model_copy(update={"line": 1}))
    other = verdict(Status.RUNTIME_ERROR, findings=(elsewhere,))
    assert told(one) == told(warned)
    assert told(one) != told(other)
    assert Audit(1).compared(["mini"], told(one), told(other))


WARNING = out_of_bounds(severity="warning")
