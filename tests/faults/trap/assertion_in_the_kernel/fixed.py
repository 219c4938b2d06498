import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cassert>

__global__ void root(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = fabsf(x[i]);
        assert(v >= 0.0f);
        y[i] = sqrtf(fabsf(v));
    }
}

torch::Tensor root_abs(torch::Tensor x) {
    auto y = torch::empty_like(x);
    root<<<(x.numel() + 63) / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""

root_op = load_inline(
    name="root_op_ext",
    cpp_sources="torch::Tensor root_abs(torch::Tensor x);",
    cuda_sources=cuda_source,
    functions=["root_abs"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return root_op.root_abs(x)
