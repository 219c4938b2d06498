import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

struct RowStats {
    float mean;
    float rstd;
};

__global__ void ln_kernel(const float* x, const float* w, const float* b, float* y, int n) {
    extern __shared__ float row[];
    __shared__ RowStats stats;
    const int base = blockIdx.x * n;
    for (int i = threadIdx.x; i < n; i += blockDim.x) row[i] = x[base + i];
    __syncthreads();
    if (threadIdx.x == 0) {
        float sum = 0.f, dev = 0.f;
        for (int i = 0; i < n; ++i) sum += row[i];
        const float mean = sum / n;
        for (int i = 0; i < n; ++i) dev += (row[i] - mean) * (row[i] - mean);
        stats.mean = mean;
        stats.rstd = rsqrtf(dev / n + 1e-5f);
    }
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        y[base + i] = (row[i] - stats.mean) * stats.rstd * w[i] + b[i];
    }
}

torch::Tensor ln(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    auto y = torch::empty_like(x);
    int n = x.size(-1);
    ln_kernel<<<x.numel() / n, 96, n * sizeof(float)>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

ext = load_inline(
    name="ln_staged",
    cpp_sources="torch::Tensor ln(torch::Tensor x, torch::Tensor w, torch::Tensor b);",
    cuda_sources=cuda_source,
    functions=["ln"],
)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return ext.ln(x, self.norm.weight, self.norm.bias)
