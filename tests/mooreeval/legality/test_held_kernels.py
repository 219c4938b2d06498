"""A pass in which no kernel of the candidate's runs: what is right all the same was computed by somebody else."""

from __future__ import annotations

import pytest
import torch

from mooreeval.candidate import Candidate
from mooreeval.execute import running
from mooreeval.execute.compare_child import are_plain
from mooreeval.task import make_task
from mooreeval.verdict import Status

TASK = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return {}


def get_inputs():
    return [torch.rand(48, 40) + 0.5]
"""
RELU, TRANSPOSE, NORM = (
    make_task(name, TASK.format(text))
    for name, text in {"relu": "torch.relu(x)", "turn": "x.t().contiguous()", "norm": "torch.linalg.norm(x)"}.items()
)

CANDIDATE = """
import torch
from torch.utils.cpp_extension import load_inline

source = r'''
#include <torch/extension.h>
#include <cstdlib>
__global__ void relu_kernel(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = fmaxf(x[i], 0.0f);
}
__global__ void turn_kernel(const float* x, float* y, int m, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
    if (j < n) y[j * m + i] = x[i * n + j];
}
__global__ void sum_kernel(const float* x, float* y, int n) {
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[i] * x[i];
    atomicAdd(y, sum);
}
__global__ void flag_kernel(float* flag) { *flag = 1; }
void relu_(torch::Tensor x) { relu_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), x.numel()); }
torch::Tensor turned(torch::Tensor x) {
    auto y = torch::empty({x.size(1), x.size(0)}, x.options());
    turn_kernel<<<dim3((x.size(1) + 31) / 32, x.size(0)), 32>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}
torch::Tensor norm(torch::Tensor x) {
    auto sum = torch::zeros({1}, x.options());
    sum_kernel<<<1, 64>>>(x.data_ptr<float>(), sum.data_ptr<float>(), x.numel());
    return torch::full({}, std::sqrt(sum.item<float>()), x.options());
}
void raise_flag(torch::Tensor flag) { flag_kernel<<<1, 1>>>(flag.data_ptr<float>()); }
void must_be_raised(torch::Tensor flag) { if (flag.item<float>() != 1) FAILS; }
'''
declarations = '''
void relu_(torch::Tensor x); torch::Tensor turned(torch::Tensor x); torch::Tensor norm(torch::Tensor x);
void raise_flag(torch::Tensor flag); void must_be_raised(torch::Tensor flag);
'''
ext = load_inline(name="several", cpp_sources=declarations, cuda_sources=source,
                  functions=["relu_", "turned", "norm", "raise_flag", "must_be_raised"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        BODY
"""


def candidate(body: str, fails: str = 'throw std::runtime_error("no flag")') -> Candidate:
    return Candidate(CANDIDATE.replace("BODY", body.replace("\n", "\n        ")).replace("FAILS", fails))


@pytest.mark.parametrize(
    ("task", "body"),
    [
        (TRANSPOSE, "y = ext.turned(x)\ny.copy_(x.t())\nreturn y"),
        (TRANSPOSE, "z = x.t().contiguous()\nfor _ in range(4): ext.turned(z)\nreturn z"),
        (NORM, "ext.norm(x)\nreturn torch.full((), sum(v * v for v in x.view(-1).tolist()) ** 0.5, device=x.device)"),
    ],
    ids=["written over", "beside the result", "a number that Python computed"],
)
def test_an_output_that_is_right_without_the_kernels_is_not_their_work(verifier, source_unread, task, body):
    verdict = verifier.verify(task, candidate(body))
    assert verdict.status is Status.ILLEGAL, verdict.reason
    # A number that Python computed is told before, by the data that it took, and a copy that is the task's whole work
    # by the operator that made it.
    assert {hit.rule for hit in verdict.rules} <= {"decoy_kernel", "host_compute", "torch_compute"}
    assert verdict.trials[-1].passed


@pytest.mark.parametrize(
    ("task", "body"),
    [
        (TRANSPOSE, "return ext.turned(x)"),
        (NORM, "return ext.norm(x)"),
        (RELU, "y = x.clone()\next.relu_(y)\nreturn y"),  # on these inputs a copy is right
    ],
    ids=["writes", "sums", "changes nothing on positive inputs"],
)
def test_the_work_of_a_kernel_is_its_own(verifier, source_unread, task, body):
    verdict = verifier.verify(task, candidate(body))
    assert verdict.status is Status.CORRECT, verdict.reason


@pytest.mark.parametrize(
    "fails", ['throw std::runtime_error("no flag")', "std::abort()", "for (volatile int k = 0;;) ++k"]
)
def test_host_code_that_needs_what_a_kernel_wrote_is_honest(verifier, source_unread, monkeypatch, fails):
    monkeypatch.setattr(running, "HELD_SECONDS", 2.0)
    body = (
        "flag = torch.zeros(1, device=x.device)\next.raise_flag(flag)\next.must_be_raised(flag)\nreturn ext.turned(x)"
    )
    verdict = verifier.verify(TRANSPOSE, candidate(body, fails))
    assert verdict.status is Status.CORRECT, verdict.reason
    assert not verdict.findings


def test_an_output_that_nobody_had_to_compute_is_plain():
    x = torch.randn(3, 4)
    nan = torch.full((5,), float("nan"))
    for output in (
        torch.zeros(7),
        nan,
        torch.tensor(1.0),
        torch.tensor(float("inf")),
        x.view(-1),
        [x, nan],
        torch.empty(0),
    ):
        assert are_plain(output, [x, 3])
    for output in (
        x + 1,
        x.t().contiguous(),
        torch.tensor(0.37),
        [nan, x * 2],
        torch.zeros(2, dtype=torch.int64) + torch.arange(2),
    ):
        assert not are_plain(output, [x, 3])
