"""Every task of the suite can tell right from wrong, and the judge can run it: on the simulator, in real processes.

On two cores that other work shares, admission takes two to seven minutes for all, judging two to five.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest
from support.selection import selected

from mooreeval.admission import Outcome
from mooreeval.admit import Admitted, Admitter
from mooreeval.candidate import Candidate, candidate_from_code
from mooreeval.config import load_config
from mooreeval.task import Task, load_task
from mooreeval.verdict import Status
from mooreeval.verify import LocalVerifier
from mooreeval.verify import Outcome as Judged
from musacoder.suite import BundledTask, bundled_tasks

pytestmark = pytest.mark.slow

TASKS = bundled_tasks()
WORKERS = 2
SANE_SECONDS = 900  # for the whole suite
# The task's own module, with one kernel that copies its first output: right under policy `mixed`, so that what can go
# wrong is that the judge can't run a task, give a candidate its weights and inputs, or compare what it returns.
COPYING = '''

from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void copy_kernel(const char* from, char* to, int64_t bytes) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < bytes) to[i] = from[i];
}

torch::Tensor copied(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int64_t bytes = x.numel() * x.element_size();
    copy_kernel<<<(bytes + 255) / 256, 256>>>((const char*)x.data_ptr(), (char*)y.data_ptr(), bytes);
    return y;
}
"""
ext = load_inline("copied", "torch::Tensor copied(torch::Tensor x);", source, functions=["copied"])


class ModelNew(Model):
    def forward(self, *arguments):
        out = super().forward(*arguments)
        several = isinstance(out, tuple)
        first = ext.copied((out[0] if several else out).contiguous())
        return (first, *out[1:]) if several else first
'''


def _id(task: BundledTask) -> str:
    return task.name


@pytest.fixture(scope="module")
def admissions(request: pytest.FixtureRequest) -> Mapping[str, Admitted]:
    """Of every task that this run selects, examined anew."""
    tasks = _loaded(request)
    start = time.monotonic()
    with Admitter(load_config(settings=["backend=simulator", "seed=5eed"])) as admitter:
        found = admitter.admit_many(list(tasks.values()), WORKERS, again=True)
    assert time.monotonic() - start < SANE_SECONDS
    return dict(zip(tasks, found, strict=True))


@pytest.fixture(scope="module")
def verdicts(request: pytest.FixtureRequest) -> Mapping[str, Judged]:
    """Of every task that this run selects, its own module judged as a candidate."""
    tasks = _loaded(request)
    settings = ["backend=simulator", "policy=mixed", "trials=2", "simulator.audit_share=0"]
    with LocalVerifier(load_config(settings=settings)) as verifier:
        judged = verifier.verify_many([(task, _candidate(task)) for task in tasks.values()], WORKERS)
    return dict(zip(tasks, judged, strict=True))


def _loaded(request: pytest.FixtureRequest) -> dict[str, Task]:
    return {bundled.name: load_task(bundled.path) for bundled in selected(request, "bundled")}


def _candidate(task: Task) -> Candidate:
    candidate = candidate_from_code(task.code + COPYING)
    assert isinstance(candidate, Candidate)
    return candidate


@pytest.mark.parametrize("bundled", TASKS, ids=_id)
def test_a_task_is_admitted_without_other_inputs(admissions: Mapping[str, Admitted], bundled: BundledTask) -> None:
    admission = admissions[bundled.name].admission
    assert admission is not None, admissions[bundled.name].error
    assert admission.outcome is Outcome.ADMITTED, admission.reasons
    assert not admission.needs


@pytest.mark.parametrize("bundled", TASKS, ids=_id)
def test_a_task_is_judged(verdicts: Mapping[str, Judged], bundled: BundledTask) -> None:
    verdict = verdicts[bundled.name].verdict
    assert verdict is not None, verdicts[bundled.name].error
    assert verdict.status is Status.CORRECT, verdict.reason
