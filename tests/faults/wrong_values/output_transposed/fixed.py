import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void product(const float* a, const float* b, float* c, int n, int k) {
    const int col = blockIdx.x * 8 + threadIdx.x;
    const int row = blockIdx.y * 8 + threadIdx.y;
    if (row >= n || col >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = sum;
}

torch::Tensor matmul(torch::Tensor a, torch::Tensor b) {
    const int n = a.size(0), k = a.size(1);
    auto c = torch::empty({n, n}, a.options());
    product<<<dim3((n + 7) / 8, (n + 7) / 8), dim3(8, 8)>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), n, k);
    return c;
}
"""

cpp_source = """
#include <torch/extension.h>
torch::Tensor matmul(torch::Tensor a, torch::Tensor b);
"""

matmul_op = load_inline(
    name="matmul_op_c",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions={"matmul": "matmul (CUDA)"},
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()
        self.matmul_op = matmul_op

    def forward(self, a, b):
        return self.matmul_op.matmul(a, b)
