import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void square_kernel(const float* x, float* squares, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) squares[i] = x[i] * x[i];
}

__global__ void root_of_sums(const float* squares, float* out, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.f;
    for (int c = 0; c < cols; ++c) sum += squares[row * cols + c];
    out[row] = sqrtf(sum);
}

torch::Tensor row_norms(torch::Tensor x) {
    const int rows = x.size(0), cols = x.size(1);
    auto out = torch::empty({rows}, x.options());
    float* squares = torch::empty_like(x).data_ptr<float>();
    square_kernel<<<4, 128>>>(x.data_ptr<float>(), squares, rows * cols);
    root_of_sums<<<(rows + 31) / 32, 32>>>(squares, out.data_ptr<float>(), rows, cols);
    return out;
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = load_inline(
            name="norms",
            cpp_sources=["torch::Tensor row_norms(torch::Tensor x);"],
            cuda_sources=[cuda_source],
            functions=["row_norms"],
            extra_cuda_cflags=["-O3"],
            verbose=False,
        )

    def forward(self, x):
        return self.norms.row_norms(x)
