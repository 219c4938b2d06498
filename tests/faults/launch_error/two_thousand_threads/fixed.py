import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void halve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.5f * x[i];
}

torch::Tensor halved(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    const int threads = 1024;
    halve<<<(n + threads - 1) / threads, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

halved = load_inline(
    name="halved_ext",
    cpp_sources="torch::Tensor halved(torch::Tensor x);",
    cuda_sources=cuda_source,
    functions=["halved"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return halved.halved(x)
