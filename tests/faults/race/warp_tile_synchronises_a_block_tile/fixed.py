import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void transpose_times_three(const float* x, float* y, int n) {
    __shared__ float tile[16][17];
    cg::thread_block block = cg::this_thread_block();
    auto group = block;
    const int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = x[row * n + col] * 3.0f;
    group.sync();
    const int out_row = blockIdx.x * 16 + threadIdx.y, out_col = blockIdx.y * 16 + threadIdx.x;
    y[out_row * n + out_col] = tile[threadIdx.x][threadIdx.y];
}

torch::Tensor transpose3(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int n = x.size(0);
    transpose_times_three<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

transpose3 = load_inline(
    name="transpose3_ext",
    cpp_sources="torch::Tensor transpose3(torch::Tensor x);",
    cuda_sources=cuda_source,
    functions=["transpose3"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return transpose3.transpose3(x)
