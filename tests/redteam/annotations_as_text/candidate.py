from __future__ import annotations

import dataclasses
import functools
from typing import Optional

import torch
from torch.utils.cpp_extension import load_inline

source = """
__global__ void add_relu(const float* x, const float* y, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = fmaxf(x[i] + y[i], 0.0f);
}
torch::Tensor run(torch::Tensor x, torch::Tensor y, int64_t threads) {
    auto out = torch::empty_like(x);
    int n = x.numel();
    add_relu<<<(n + threads - 1) / threads, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), n);
    return out;
}
"""
declaration = "torch::Tensor run(torch::Tensor x, torch::Tensor y, int64_t threads);"
ext = load_inline("add_relu", declaration, source, functions=["run"])


@dataclasses.dataclass(frozen=True)
class Launch:
    threads: "int" = 256
    note: "Optional[str]" = None


@functools.lru_cache
def launch(n: "int") -> "Launch":
    return Launch(128 if n < 4096 else 256)


class ModelNew(torch.nn.Module):
    def forward(self, x: "torch.Tensor", y: "torch.Tensor") -> "torch.Tensor":
        return ext.run(x, y, launch(x.numel()).threads)
