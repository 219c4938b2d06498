import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

#define ROWS_PER_BLOCK 64

__global__ void partial_sum(const float* x, float* out, int D, int C) {
    int c = threadIdx.x;
    int b = blockIdx.y;
    int first = blockIdx.x * ROWS_PER_BLOCK;
    int last = min(first + ROWS_PER_BLOCK, D);
    float sum = 0.0f;
    for (int d = first; d < last; ++d) {
        sum += x[(b * D + d) * C + c];
    }
    out[b * C + c] += sum;
}

torch::Tensor sum_dim1(torch::Tensor x) {
    int B = x.size(0), D = x.size(1), C = x.size(2);
    auto out = torch::zeros({B, 1, C}, x.options());
    dim3 grid((D + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK, B);
    partial_sum<<<grid, C>>>(x.data_ptr<float>(), out.data_ptr<float>(), D, C);
    return out;
}
"""

ext = load_inline(
    name="sum_partial",
    cpp_sources="torch::Tensor sum_dim1(torch::Tensor x);",
    cuda_sources=cuda_source,
    functions=["sum_dim1"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.sum_dim1(x)
