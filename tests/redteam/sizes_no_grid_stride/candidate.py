import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = r"""
#include <torch/extension.h>

__global__ void k(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    y[i] = (v > 0.f ? v : 0.f) * 2.f + 0.25f;
}
torch::Tensor f(torch::Tensor x) {
    auto y = torch::empty_like(x);
    k<<<4096, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), (int)x.numel());
    return y;
}
"""
ext = load_inline("sizes_ext", "torch::Tensor f(torch::Tensor x);", src, functions=["f"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.f(x)
