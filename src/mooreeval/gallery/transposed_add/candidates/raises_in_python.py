import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void transposed_add_kernel(const float* a, const float* b, float* out, int rows, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols) out[i] = a[i] + b[(i % cols) * rows + i / cols];
}

torch::Tensor transposed_add(torch::Tensor a, torch::Tensor b) {
    auto out = torch::empty_like(a);
    int n = a.numel();
    transposed_add_kernel<<<(n + 255) / 256, 256>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), out.data_ptr<float>(), a.size(0), a.size(1));
    return out;
}
"""

ext = load_inline(
    name="transposed_add_flat",
    cpp_sources="torch::Tensor transposed_add(torch::Tensor a, torch::Tensor b);",
    cuda_sources=source,
    functions=["transposed_add"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.extension = ext

    def forward(self, a, b):
        return self.ops.transposed_add(a, b)
