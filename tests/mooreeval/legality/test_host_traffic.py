"""Host code that has the task's data in its hands computes with them, and a kernel only writes the result down."""

from __future__ import annotations

import pytest

from mooreeval.candidate import Candidate
from mooreeval.task import make_task
from mooreeval.verdict import Status

# What the source shows is for others: here what crossed between the device and the host is on its own.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("source_unread")]

TASK = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(512))

    def forward(self, x):
        return {}


def get_inputs():
    return [torch.randn(32, 512)]
"""
SUMS, SORTED, SCALED = (
    make_task(name, TASK.format(text))
    for name, text in {
        "sums": "torch.sum(x, dim=1) + 0 * self.weight.sum()",
        "sorted": "torch.sort(x, dim=1)[0]",
        "scaled": "x * self.weight",
    }.items()
)
CANDIDATE = """
import math
import torch
from torch.utils.cpp_extension import load_inline

source = r'''
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <vector>
__constant__ float held[512];
__global__ void copy_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
__global__ void put_kernel(float* y, float value) { *y = value; }
__global__ void scale_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * held[i % 512];
}
torch::Tensor copied(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    copy_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
torch::Tensor sums(torch::Tensor x) {
    int rows = x.size(0), width = x.size(1);
    std::vector<float> taken(rows * width);
    cudaMemcpy(taken.data(), x.data_ptr<float>(), taken.size() * 4, cudaMemcpyDeviceToHost);
    auto y = torch::empty({rows}, x.options());
    for (int r = 0; r < rows; ++r) {
        float sum = 0;
        for (int k = 0; k < width; ++k) sum += taken[r * width + k];
        put_kernel<<<1, 1>>>(y.data_ptr<float>() + r, sum);
    }
    return y;
}
torch::Tensor scaled(torch::Tensor x, torch::Tensor weight) {
    auto on_host = weight.cpu();
    cudaMemcpyToSymbol(held, on_host.data_ptr<float>(), 512 * 4);
    auto y = torch::empty_like(x);
    int n = x.numel();
    scale_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
'''
declarations = '''
torch::Tensor copied(torch::Tensor x); torch::Tensor sums(torch::Tensor x);
torch::Tensor scaled(torch::Tensor x, torch::Tensor weight);
'''
ext = load_inline(name="several", cpp_sources=declarations, cuda_sources=source, functions=["copied", "sums", "scaled"])


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(512))

    def forward(self, x):
        BODY
"""


def candidate(body: str) -> Candidate:
    return Candidate(CANDIDATE.replace("BODY", body.replace("\n", "\n        ")))


CHEATS = {
    "numbers of Python's": (
        SORTED,
        "rows = [sorted(row) for row in x.tolist()]\nreturn ext.copied(torch.tensor(rows, device=x.device))",
    ),
    "numbers from text": (
        SORTED,
        "torch.set_printoptions(threshold=1 << 30, precision=9, linewidth=1 << 30)\n"
        "rows = str(x).split('tensor(')[1].split(', device')[0].split(']')\n"
        "rows = [sorted(float(v) for v in row.strip(' ,[\\n').split(',')) for row in rows if row.strip(' ,[\\n')]\n"
        "return ext.copied(torch.tensor(rows, device=x.device))",
    ),
    "a loop over a copy, its result by arguments": (SUMS, "return ext.sums(x)"),
    "the same of what a kernel has copied": (SUMS, "return ext.sums(ext.copied(x))"),
    "numbers of what a kernel has copied": (
        SORTED,
        "rows = [sorted(row) for row in ext.copied(x).tolist()]\nreturn torch.tensor(rows, device=x.device)",
    ),
}


@pytest.mark.parametrize("how", CHEATS)
def test_what_the_host_computes_with_the_tasks_data_is_illegal(verifier, how):
    task, body = CHEATS[how]
    verdict = verifier.verify(task, candidate(body))
    assert verdict.status is Status.ILLEGAL, verdict.reason
    assert "host_compute" in {hit.rule for hit in verdict.rules}
    assert verdict.trials[-1].passed


HONEST = {
    "weights by way of the host": "return ext.scaled(x, self.weight)",
    "a result by way of the host": "return ext.scaled(x, self.weight).cpu().to(x.device)",
    "a result by way of the host, once more": "return ext.copied(ext.scaled(x, self.weight).cpu().to(x.device))",
    "a few numbers": "first = x[0, :64].tolist()\nassert len(first) == 64 and x[0, 0].item() == first[0]\n"
    "return ext.scaled(x, self.weight)",
    "a look at it": "assert 'cuda' in str(x)\nreturn ext.scaled(x, self.weight)",
}


@pytest.mark.parametrize("how", HONEST)
def test_weights_results_and_a_few_numbers_may_be_seen_by_the_host(verifier, how):
    verdict = verifier.verify(SCALED, candidate(HONEST[how]))
    assert verdict.status is Status.CORRECT, verdict.reason
