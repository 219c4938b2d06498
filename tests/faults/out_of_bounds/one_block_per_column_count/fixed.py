import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void l1_normalise(const float* x, float* y, int cols) {
    const float* row = x + blockIdx.x * cols;
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 32) {
        sum += fabsf(row[c]);
    }
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
    for (int c = threadIdx.x; c < cols; c += 32) {
        y[blockIdx.x * cols + c] = row[c] / sum;
    }
}

torch::Tensor l1(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int cols = x.size(1);
    int rows = x.size(0);
    l1_normalise<<<rows, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols);
    return y;
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = load_inline(
            name="l1",
            cpp_sources=["torch::Tensor l1(torch::Tensor x);"],
            cuda_sources=[cuda_source],
            functions=["l1"],
            extra_cuda_cflags=["-O3"],
            verbose=False,
        )

    def forward(self, x):
        return self.l1.l1(x)
