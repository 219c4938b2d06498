"""What is known of a task when a candidate is judged by it: other inputs where it needs them, a word in the verdict."""

import pytest
from support.builds import prepared_cache

from mooreeval.admit import Admitter
from mooreeval.candidate import Candidate
from mooreeval.config import load_config
from mooreeval.feedback import feedback
from mooreeval.task import make_task
from mooreeval.verdict import Status, Verdict
from mooreeval.verify import LocalVerifier

TASK = make_task(
    "product",
    """
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, a, b):
        return a @ b

def get_inputs():
    return [torch.rand(40, 300), torch.rand(300, 50)]
""",
)
CANDIDATE = """
import torch
from torch.utils.cpp_extension import load_inline

source = r'''
__device__ float of(float v) { return VALUE; }
__global__ void product(const float* a, const float* b, float* c, int m, int k, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || col >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) sum += of(a[row * k + i]) * of(b[i * n + col]);
    c[row * n + col] = sum;
}
torch::Tensor run(torch::Tensor a, torch::Tensor b) {
    int m = a.size(0), k = a.size(1), n = b.size(1);
    auto c = torch::empty({m, n}, a.options());
    dim3 block(16, 16), grid((n + 15) / 16, (m + 15) / 16);
    product<<<grid, block>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), m, k, n);
    return c;
}
'''
ext = load_inline("product", "torch::Tensor run(torch::Tensor a, torch::Tensor b);", source, functions=["run"])

class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return ext.run(a, b)
"""
HONEST = Candidate(CANDIDATE.replace("VALUE", "v"))
ROUNDS = Candidate(CANDIDATE.replace("VALUE", "__int_as_float((__float_as_int(v) + 0x1000) & ~0x1fff)"))
pytestmark = pytest.mark.slow
SETTINGS = ["backend=simulator", "seed=5eed"]
BLIND = make_task("mean", TASK.code.replace("a @ b", "(a * a).mean() + (b * b).mean()"))


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    """A cache in which no admission is known, with the simulator's shared parts."""
    folder = tmp_path_factory.mktemp("cache")
    prepared_cache(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MOOREEVAL_CACHE", str(folder))
        yield folder


def verdict_on(candidate: Candidate, *settings: str, task=TASK) -> Verdict:
    with LocalVerifier(load_config(settings=[*SETTINGS, *settings])) as verifier:
        return verifier.verify(task, candidate)


def admit(task) -> None:
    with Admitter(load_config(settings=SETTINGS)) as admitter:
        admitter.admit(task)


def test_a_kernel_that_rounds_to_tf32_is_seen_once_the_task_is_known_to_need_other_signs():
    before = verdict_on(ROUNDS)
    assert before.status is Status.CORRECT, before.reason  # positive inputs hide it
    assert before.admission is None
    admit(TASK)
    after = verdict_on(ROUNDS)
    assert after.status is Status.INCORRECT, after.reason
    assert [(t.inputs, t.passed) for t in after.trials] == [("plain", True)] * 5 + [("signs", False)]
    assert after.admission.variations == ("signs",)
    assert "inputs with other signs" in feedback(after, ROUNDS.code)
    assert verdict_on(ROUNDS, "input_variation=none").status is Status.CORRECT

    honest = verdict_on(HONEST)
    assert honest.status is Status.CORRECT, honest.reason
    assert [t.inputs for t in honest.trials] == ["plain"] * 5 + ["signs"]
    assert honest.admission.outcome == "admitted"


def test_a_weak_task_is_named_in_the_verdict_and_not_in_what_a_model_is_told():
    admit(BLIND)
    verdict = verdict_on(HONEST, task=BLIND)  # which returns the product itself
    assert verdict.status is Status.INCORRECT
    assert verdict.admission.outcome == "weak"
    assert any("would pass" in reason for reason in verdict.admission.reasons)
    assert "would pass" not in feedback(verdict, HONEST.code)
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict
