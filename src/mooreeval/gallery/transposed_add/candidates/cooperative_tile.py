import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

static constexpr int kTile = 32;
static constexpr int kRows = 8;

__global__ void transposed_add_kernel(const float* a, const float* b, float* out, int rows, int cols) {
    __shared__ float tile[kTile][kTile + 1];
    cg::thread_block block = cg::this_thread_block();
    // b is cols x rows: read it along its own rows, write along the rows of a.
    const int b_col = blockIdx.y * kTile + threadIdx.x;
    for (int j = threadIdx.y; j < kTile; j += kRows) {
        const int b_row = blockIdx.x * kTile + j;
        if (b_row < cols && b_col < rows) tile[j][threadIdx.x] = b[b_row * rows + b_col];
    }
    block.sync();
    const int col = blockIdx.x * kTile + threadIdx.x;
    for (int j = threadIdx.y; j < kTile; j += kRows) {
        const int row = blockIdx.y * kTile + j;
        if (row < rows && col < cols) out[row * cols + col] = a[row * cols + col] + tile[threadIdx.x][j];
    }
}

torch::Tensor transposed_add(torch::Tensor a, torch::Tensor b) {
    auto out = torch::empty_like(a);
    const int rows = a.size(0), cols = a.size(1);
    const dim3 grid((cols + kTile - 1) / kTile, (rows + kTile - 1) / kTile);
    transposed_add_kernel<<<grid, dim3(kTile, kRows)>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), out.data_ptr<float>(), rows, cols);
    return out;
}
"""

ext = load_inline(
    name="transposed_add_cg",
    cpp_sources="torch::Tensor transposed_add(torch::Tensor a, torch::Tensor b);",
    cuda_sources=source,
    functions=["transposed_add"],
)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return ext.transposed_add(a, b)
