"""What baselines measured without a candidate make of a candidate's timing. The measuring itself needs a device."""

import types
from dataclasses import dataclass

import pytest

from mooreeval.cache import FileCache
from mooreeval.candidate import Candidate
from mooreeval.config import VerifyConfig
from mooreeval.errors import Transient
from mooreeval.execute import compile_baseline
from mooreeval.execute.compile_baseline import CompileBaseline, add_compile_baseline
from mooreeval.execute.evidence import Evidence
from mooreeval.task import make_task
from mooreeval.verdict import Timing

TASK = make_task("t", "class Model: pass\ndef get_inputs(): return []\n")


@dataclass(frozen=True)
class Facts:
    name: str = "a device"


@pytest.fixture
def baseline(tmp_path, monkeypatch):
    """Adds a baseline to a fresh timing; `asked` counts how often it had to be measured."""
    cache, asked = FileCache(tmp_path), []
    toolchain = types.SimpleNamespace(cache=cache, facts=Facts(), toolkit=types.SimpleNamespace(torch_version="2.11"))

    def add(found, eager_ms=1.0, task=TASK):
        def measured(*_arguments):
            asked.append(task.task_id)
            if isinstance(found, Exception):
                raise found
            return found

        monkeypatch.setattr(compile_baseline, "_measured", measured)
        evidence = Evidence(
            timing=Timing(candidate_ms=0.5, eager_ms=eager_ms, eager_speedup_low=1.9, eager_speedup_high=2.1)
        )
        add_compile_baseline(
            task, Candidate("x"), VerifyConfig(), "00" * 16, None, toolchain, lambda _stage: None, evidence
        )
        return evidence

    add.asked = asked
    return add


def test_the_ratio_is_measured_once_and_applied_to_every_candidate(baseline):
    found = CompileBaseline(0.8, 0.7, 0.9, eager_seconds=1e-3)
    first, second = baseline(found), baseline(found, eager_ms=0.9)
    assert baseline.asked == ["t"]
    assert first.timing.compile_ms == pytest.approx(0.8)
    assert second.timing.compile_ms == pytest.approx(0.72)
    assert first.timing.compile_speedup_low == pytest.approx(1.9 * 0.7)
    assert first.timing.compile_speedup_high == pytest.approx(2.1 * 0.9)
    assert "baseline" in first.stage_seconds


def test_a_task_that_does_not_compile_keeps_its_eager_baseline(baseline):
    evidence = baseline(CompileBaseline(error="Unsupported: a loop", eager_seconds=1e-3))
    assert (evidence.timing.eager_ms, evidence.timing.compile_ms) == (1.0, None)
    assert evidence.warnings == ["torch.compile is no baseline: Unsupported: a loop"]


@pytest.mark.parametrize(
    ("alone_ms", "beside_ms", "scored"),
    [(1.0, 1.14, True), (1.0, 1.17, False), (0.5, 1.0, False), (0.01, 0.018, True), (0.01, 0.03, False)],
)
def test_a_baseline_that_was_slowed_beside_the_candidate_voids_the_timing(baseline, alone_ms, beside_ms, scored):
    evidence = baseline(CompileBaseline(0.8, 0.7, 0.9, eager_seconds=alone_ms * 1e-3), eager_ms=beside_ms)
    assert (evidence.timing is not None) is scored
    assert any("alone: not scored" in warning for warning in evidence.warnings) is not scored


def test_a_lost_process_is_told_and_nothing_is_remembered_of_it(baseline):
    lost = baseline(Transient("its process was lost"))
    assert lost.timing.eager_ms == 1.0
    assert "its process was lost" in lost.warnings[0]
    assert baseline(CompileBaseline(0.8, 0.7, 0.9, eager_seconds=1e-3)).timing.compile_ms == pytest.approx(0.8)
    assert len(baseline.asked) == 2
