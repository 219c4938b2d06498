import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

#define THREADS 96
#define AHEAD 3

__global__ void add_ahead(const float* x, float* y, int n) {
    __shared__ float tile[THREADS + AHEAD];
    const int i = blockIdx.x * THREADS + threadIdx.x;
    tile[threadIdx.x] = x[i];
    if (threadIdx.x < AHEAD) tile[threadIdx.x + THREADS] = x[(i + THREADS) % n];
    __syncthreads();
    y[i] = tile[threadIdx.x] + tile[threadIdx.x + AHEAD];
}

torch::Tensor ahead(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int n = x.numel();
    add_ahead<<<n / THREADS, THREADS>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

ahead_op = load_inline(
    name="ahead_op_ext",
    cpp_sources="torch::Tensor ahead(torch::Tensor x);",
    cuda_sources=cuda_source,
    functions=["ahead"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ahead_op.ahead(x)
