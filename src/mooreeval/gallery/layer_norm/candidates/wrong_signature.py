import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void ln_kernel(const float* x, const float* w, const float* b, float* y, int n) {
    const float* row = x + blockIdx.x * n;
    float sum = 0.f, sq = 0.f;
    for (int i = threadIdx.x; i < n; i += 32) { sum += row[i]; sq += row[i] * row[i]; }
    for (int d = 16; d; d >>= 1) {
        sum += __shfl_xor_sync(~0u, sum, d);
        sq += __shfl_xor_sync(~0u, sq, d);
    }
    const float mean = sum / n, inv = rsqrtf(sq / n - mean * mean + 1e-5f);
    for (int i = threadIdx.x; i < n; i += 32) y[blockIdx.x * n + i] = (row[i] - mean) * inv * w[i] + b[i];
}

torch::Tensor ln(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    auto y = torch::empty_like(x);
    int n = x.size(-1);
    ln_kernel<<<x.numel() / n, 32>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

ext = load_inline(
    name="ln_warp",
    cpp_sources="torch::Tensor ln(torch::Tensor x, torch::Tensor w, torch::Tensor b);",
    cuda_sources=cuda_source,
    functions=["ln"],
)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x, residual):
        return ext.ln(x + residual, self.norm.weight, self.norm.bias)
