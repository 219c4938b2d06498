import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void transpose_in_place(float* m, int n) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || col >= n) return;
    if (col != row) {
        float upper = m[row * n + col];
        float lower = m[col * n + row];
        m[row * n + col] = lower;
        m[col * n + row] = upper;
    }
}

torch::Tensor transposed(torch::Tensor m) {
    auto out = m.clone();
    const int n = m.size(0);
    transpose_in_place<<<dim3(3, 3), dim3(16, 16)>>>(out.data_ptr<float>(), n);
    return out;
}
"""

cpp_source = """
#include <torch/extension.h>
torch::Tensor transposed(torch::Tensor m);
"""

transposed = load_inline(
    name="transposed_c",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions={"transposed": "transposed (CUDA)"},
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()
        self.transposed = transposed

    def forward(self, m):
        return self.transposed.transposed(m)
