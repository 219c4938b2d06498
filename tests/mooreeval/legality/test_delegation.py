"""Other people's kernels that do a candidate's work, judged whole on the simulator; each beside an honest twin."""

from __future__ import annotations

import textwrap

import pytest

from mooreeval.candidate import Candidate
from mooreeval.task import Task, make_task
from mooreeval.verdict import Status

# What the source shows is for `test_python_source.py`: here the layers behind it are on their own.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("source_unread")]

TASK = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return {}


def get_inputs():
    return [torch.randn(48, 40), torch.randn(40, 56)]


def get_init_inputs():
    return []
"""
TASKS = {
    "product": "a @ b",
    "transpose": "a.t().contiguous()",
    "norm": "torch.linalg.norm(a)",
    "diagonal": "torch.diag(a[:, 0])",
}
PRODUCT, TRANSPOSE, NORM, DIAGONAL = (make_task(name, TASK.format(text)) for name, text in TASKS.items())

# One extension for all cases: what they do with it differs in Python.
SOURCE = r"""
#include <torch/extension.h>
#define JOIN(x, y) x##y

__global__ void JOIN(prod, uct)(const float* a, const float* b, float* c, int m, int n, int k) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
    if (j >= n) return;
    float sum = 0;
    for (int l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
    c[i * n + j] = sum;
}
__global__ void turn(const float* x, float* y, int m, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
    if (j < n) y[j * m + i] = x[i * n + j];
}
__global__ void touch_one(float* y) { y[0] = y[0]; }
__global__ void do_nothing() {}
__global__ void place(const float* x, float* y, int n, int stride) {
    if (threadIdx.x < n) y[threadIdx.x * (n + 1)] = x[threadIdx.x * stride];
}
__global__ void burn_scratch(float* y, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = i;
}
__global__ void square_sum(const float* x, float* y, int n) {
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[i] * x[i];
    atomicAdd(y, sum);
}

torch::Tensor product_of(torch::Tensor a, torch::Tensor b) {
    auto c = torch::empty({a.size(0), b.size(1)}, a.options());
    JOIN(prod, uct)<<<dim3((c.size(1) + 31) / 32, c.size(0)), 32>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), c.size(0), c.size(1), a.size(1));
    return c;
}
torch::Tensor transposed(torch::Tensor x) {
    auto y = torch::empty({x.size(1), x.size(0)}, x.options());
    const int m = x.size(0), n = x.size(1);
    turn<<<dim3((n + 31) / 32, m), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), m, n);
    return y;
}
torch::Tensor on_the_diagonal(torch::Tensor x) {
    auto y = torch::zeros({x.size(0), x.size(0)}, x.options());
    place<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}
void touch(torch::Tensor y) { touch_one<<<1, 1>>>(y.data_ptr<float>()); }
void nothing() { do_nothing<<<1, 1>>>(); }
void burn(torch::Tensor y) { burn_scratch<<<1, 64>>>(y.data_ptr<float>(), y.numel()); }
double norm(torch::Tensor x) {
    auto sum = torch::zeros({1}, x.options());
    square_sum<<<1, 64>>>(x.data_ptr<float>(), sum.data_ptr<float>(), x.numel());
    return std::sqrt(sum.item<float>());
}
torch::Tensor host_product(torch::Tensor a, torch::Tensor b) {
    auto c = torch::zeros({a.size(0), b.size(1)}, a.options());
    float *x = a.data_ptr<float>(), *y = b.data_ptr<float>(), *z = c.data_ptr<float>();
    for (long i = 0; i < a.size(0); ++i)
        for (long l = 0; l < a.size(1); ++l)
            for (long j = 0; j < b.size(1); ++j) z[i * b.size(1) + j] += x[i * a.size(1) + l] * y[l * b.size(1) + j];
    return c;
}
"""
CANDIDATE = """
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r'''{source}'''
declarations = r'''
torch::Tensor product_of(torch::Tensor a, torch::Tensor b); torch::Tensor transposed(torch::Tensor x);
void touch(torch::Tensor y); void nothing(); void burn(torch::Tensor y); double norm(torch::Tensor x);
torch::Tensor host_product(torch::Tensor a, torch::Tensor b); torch::Tensor on_the_diagonal(torch::Tensor x);
'''
ext = load_inline(name="several", cpp_sources=declarations, cuda_sources=source,
                  functions=["product_of", "transposed", "touch", "nothing", "burn", "norm", "host_product",
                             "on_the_diagonal"])
{before}

class ModelNew(nn.Module):
    def forward(self, a, b):
{body}
"""


def candidate(body: str, before: str = "", source: str = SOURCE) -> Candidate:
    return Candidate(CANDIDATE.format(source=source, before=before, body=textwrap.indent(body, " " * 8)))


HONEST = {
    "a kernel whose name is put together": (PRODUCT, "return ext.product_of(a, b)"),
    "views and copies around it": (
        PRODUCT,
        "c = ext.product_of(a.contiguous(), b.t().contiguous().t().contiguous())\nreturn c.view(-1).view(48, 56)",
    ),
    "a result that is copied": (
        PRODUCT,
        "out = torch.zeros(48, 56, device=a.device)\nreturn out.copy_(ext.product_of(a, b))",
    ),
    "a result that was on the host": (PRODUCT, "return ext.product_of(a, b).cpu().to(a.device)"),
    "a fallback that is not needed": (
        PRODUCT,
        "try:\n    y = ext.product_of(a, b)\nexcept RuntimeError:\n    y = None\nreturn y",
    ),
    "a few elements of what was filled": (DIAGONAL, "return ext.on_the_diagonal(a)"),
    "a kernel that moves": (TRANSPOSE, "return ext.transposed(a)"),
    "a number finished on the host": (NORM, "return torch.full((), ext.norm(a), device=a.device)"),
}
CHEATS = {
    "a library after a decoy": (PRODUCT, "y = a @ b\next.touch(y)\nreturn y", {"torch_compute"}),
    "a fallback that is taken": (
        PRODUCT,
        "ext.nothing()\ntry:\n    1 // 0\nexcept ArithmeticError:\n    return getattr(torch, 'mat' + 'mul')(a, b)",
        {"torch_compute"},
    ),
    "a copy after one element": (TRANSPOSE, "y = a.t().contiguous()\next.touch(y)\nreturn y", {"decoy_kernel"}),
    "a copy after nothing": (TRANSPOSE, "ext.nothing()\nreturn a.t().contiguous()", {"decoy_kernel"}),
    "a result that is thrown away": (
        TRANSPOSE,
        "ext.burn(torch.empty(100000, device=a.device))\nreturn a.t().contiguous()",
        {"decoy_kernel"},
    ),
    "the host's own loops": (
        PRODUCT,
        "ext.burn(torch.empty(100000, device=a.device))\nreturn ext.host_product(a.cpu(), b.cpu()).to(a.device)",
        {"decoy_kernel"},
    ),
}


@pytest.mark.parametrize("how", HONEST)
def test_work_of_the_candidates_kernels_passes(verifier, how):
    task, body = HONEST[how]
    verdict = verifier.verify(task, candidate(body))
    assert verdict.status is Status.CORRECT, verdict.reason
    assert verdict.own_share_of == "bytes_moved"
    assert verdict.own_share is not None and verdict.own_share > 0.25
    assert all(use.allowed for use in verdict.operators)


@pytest.mark.parametrize("how", CHEATS)
def test_work_that_others_do_is_illegal(verifier, how):
    task, body, rules = CHEATS[how]
    verdict = verifier.verify(task, candidate(body))
    assert verdict.status is Status.ILLEGAL, verdict.reason
    assert rules <= {hit.rule for hit in verdict.rules}


def test_an_operator_whose_name_is_put_together_is_found_in_the_module(verifier):
    honest = "    return c;\n}\ntorch::Tensor transposed"
    source = SOURCE.replace(honest, f"    c.copy_(at::JOIN(mat, mul)(a, b));\n{honest}")
    assert source != SOURCE
    verdict = verifier.verify(PRODUCT, candidate("return ext.product_of(a, b)", source=source))
    assert verdict.status is Status.ILLEGAL, verdict.reason
    assert {hit.rule for hit in verdict.rules} == {"cpp_torch_compute"}
    assert not verdict.trials  # nothing of it ran


def out_of_sight(how: str) -> Candidate:
    before = {
        "a thread": "import threading\ndef mm(a, b):\n    out = []\n"
        "    t = threading.Thread(target=lambda: out.append(torch.mm(a, b)))\n"
        "    t.start()\n    t.join()\n    return out[0]",
        "an operator of its own": "@torch.library.custom_op('mine::mm', mutates_args=())\n"
        "def mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:\n    return torch.mm(a, b)",
        "modes switched off": "from torch.utils._python_dispatch import _disable_current_modes\ndef mm(a, b):\n"
        "    with _disable_current_modes():\n        return torch.mm(a, b)",
    }[how]
    return candidate("y = mm(a, b)\next.touch(y)\nreturn y", before)


@pytest.mark.parametrize("how", ["a thread", "an operator of its own", "modes switched off"])
def test_an_operator_that_runs_out_of_the_watchs_sight_is_in_the_devices_log(verifier, how):
    verdict = verifier.verify(PRODUCT, out_of_sight(how))
    assert verdict.status is Status.ILLEGAL, verdict.reason


def mixed(task: Task, what: Candidate):
    from mooreeval.config import load_config
    from mooreeval.verify import LocalVerifier

    with LocalVerifier(load_config(settings=["backend=simulator", "seed=5eed", "policy=mixed"])) as verifier:
        return verifier.verify(task, what)


def test_under_the_policy_mixed_the_share_of_others_is_told_and_allowed():
    verdict = mixed(PRODUCT, candidate("y = a @ b\next.touch(y)\nreturn y"))
    assert verdict.status is Status.CORRECT, verdict.reason
    assert verdict.own_share is not None and verdict.own_share < 0.01
    assert {use.name for use in verdict.operators if not use.allowed} == {"aten::mm"}
    assert all(use.place is not None and use.place.text == "y = a @ b" for use in verdict.operators if not use.allowed)
