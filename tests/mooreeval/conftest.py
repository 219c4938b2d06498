"""Shared parts of the judge's tests: one verifier for a whole session, small tasks and candidates."""

import textwrap

import pytest

from mooreeval.candidate import Candidate
from mooreeval.config import load_config
from mooreeval.task import make_task
from mooreeval.verify import LocalVerifier

RUN_SECONDS = 6
RECORD_SECONDS = 10

SCALE_TASK = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor
        self.bias = nn.Parameter(torch.randn(64))

    def forward(self, x):
        return x * self.factor + self.bias


def get_inputs():
    return [torch.randn(32, 64)]


def get_init_inputs():
    return [3.0]
"""

SCALE_KERNEL = """
#include <torch/extension.h>

__global__ void scale(const float* x, const float* bias, float* y, float factor, int n, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * factor + bias[i % width];
}

torch::Tensor run(torch::Tensor x, torch::Tensor bias, double factor) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    scale<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(),
                                    factor, n, x.size(1));
    return y;
}
"""

SCALE_CANDIDATE = f"""
import os, sys, time
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r'''{SCALE_KERNEL}'''
ext = load_inline(name="scale", cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor bias, double factor);",
                  cuda_sources=source, functions=["run"])


class ModelNew(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor
        self.bias = nn.Parameter(torch.randn(64))

    def forward(self, x):
        return ext.run(x, self.bias, self.factor)
"""


@pytest.fixture(scope="session")
def verifier():
    """One local verifier on the simulator; its seed is fixed so that a failure can be looked at again."""
    deadlines = [f"deadlines.run_seconds={RUN_SECONDS}", f"deadlines.record_seconds={RECORD_SECONDS}"]
    config = load_config(settings=["backend=simulator", "seed=5eed", *deadlines])
    with LocalVerifier(config) as verifier:
        yield verifier


@pytest.fixture
def source_unread(monkeypatch):
    """The layers behind the source: they must hold as if no rule were known by which it is read."""
    monkeypatch.setattr("mooreeval.execute.judge.read_source", lambda *_arguments: [])


@pytest.fixture(scope="session")
def scale_task():
    return make_task("scale", SCALE_TASK)


def candidate(code: str) -> Candidate:
    """A candidate from dedented source."""
    return Candidate(textwrap.dedent(code))


def changed(*replacements: tuple[str, str]) -> Candidate:
    """The honest scale candidate with some text replaced; each piece must be there."""
    code = SCALE_CANDIDATE
    for old, new in replacements:
        assert old in code, old
        code = code.replace(old, new)
    return Candidate(code)
