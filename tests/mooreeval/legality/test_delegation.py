"""Other people's kernels that do a candidate's work, judged whole on the simulator; each beside an honest twin."""

from __future__ import annotations

import pytest

from mooreeval.candidate import Candidate
from mooreeval.task import make_task
from mooreeval.verdict import Status

pytestmark = pytest.mark.slow

TASK = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(48, 40), torch.randn(40, 56)]


def get_init_inputs():
    return []
"""

CANDIDATE = '''
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#define JOIN(x, y) x##y

__global__ void JOIN(prod, uct)(const float* a, const float* b, float* c, int m, int n, int k) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
    if (j >= n) return;
    float sum = 0;
    for (int l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
    c[i * n + j] = sum;
}

torch::Tensor run(torch::Tensor a, torch::Tensor b) {
    auto c = torch::empty({a.size(0), b.size(1)}, a.options());
    JOIN(prod, uct)<<<dim3((c.size(1) + 31) / 32, c.size(0)), 32>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), c.size(0), c.size(1), a.size(1));
    return c;
}
"""
ext = load_inline(name="product", cpp_sources="torch::Tensor run(torch::Tensor a, torch::Tensor b);",
                  cuda_sources=source, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, a, b):
        return ext.run(a, b)
'''


def changed(*replacements: tuple[str, str]) -> Candidate:
    """The honest candidate with some text replaced; each piece must be there."""
    code = CANDIDATE
    for old, new in replacements:
        assert old in code, old
        code = code.replace(old, new)
    return Candidate(code)


@pytest.fixture(scope="module")
def task():
    return make_task("product", TASK)


def test_a_kernel_whose_name_is_put_together_is_the_candidates_own(verifier, task):
    verdict = verifier.verify(task, changed())
    assert verdict.status is Status.CORRECT, verdict.reason


def test_an_operator_whose_name_is_put_together_is_found_in_the_module(verifier, task):
    verdict = verifier.verify(
        task, changed(("    return c;\n", "    c.copy_(at::JOIN(mat, mul)(a, b));\n    return c;\n"))
    )
    assert verdict.status is Status.ILLEGAL, verdict.reason
    assert {hit.rule for hit in verdict.rules} == {"cpp_torch_compute"}
    assert verdict.evidence is None or not verdict.trials  # nothing of it ran
