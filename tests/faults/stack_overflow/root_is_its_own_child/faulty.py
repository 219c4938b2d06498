import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__device__ float best_path(const float* values, int node, int count) {
    if (node >= count) return 0.0f;
    const float left = best_path(values, 2 * node, count);
    const float right = best_path(values, 2 * node + 1, count);
    return values[node] + 0.5f * fmaxf(left, right);
}

__global__ void best_path_kernel(const float* values, float* out, int count) {
    if (threadIdx.x == 0) out[0] = best_path(values, 0, count);
}

torch::Tensor path(torch::Tensor values) {
    auto out = torch::empty({1}, values.options());
    best_path_kernel<<<1, 1>>>(values.data_ptr<float>(), out.data_ptr<float>(), values.numel());
    return out;
}
"""

path_op = load_inline(
    name="path_op_ext",
    cpp_sources="torch::Tensor path(torch::Tensor values);",
    cuda_sources=cuda_source,
    functions=["path"],
)


class ModelNew(nn.Module):
    def forward(self, v):
        return path_op.path(v)
