import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void ln_kernel(const float* x, const float* w, const float* b, float* y, int n) {
    __shared__ float s_sum[256];
    __shared__ float s_sq[256];
    int t = threadIdx.x;
    const float* row = x + blockIdx.x * n;
    float sum = 0.0f, sq = 0.0f;
    for (int i = t; i < n; i += blockDim.x) {
        sum += row[i];
        sq += row[i] * row[i];
    }
    s_sum[t] = sum;
    s_sq[t] = sq;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s) {
            s_sum[t] += s_sum[t + s];
            s_sq[t] += s_sq[t + s];
        }
        __syncthreads();
    }
    float mean = s_sum[0] / n;
    float var = (s_sq[0] - n * mean * mean) / (n - 1);
    float inv = rsqrtf(var + 1e-5f);
    for (int i = t; i < n; i += blockDim.x) {
        y[blockIdx.x * n + i] = (row[i] - mean) * inv * w[i] + b[i];
    }
}

torch::Tensor ln(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    auto y = torch::empty_like(x);
    int n = x.size(-1);
    ln_kernel<<<x.numel() / n, 256>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

ext = load_inline(
    name="ln_ext",
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
