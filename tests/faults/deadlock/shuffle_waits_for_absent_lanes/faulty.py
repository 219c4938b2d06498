import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void fold_halves(const float* x, float* y) {
    __shared__ float s[64];
    const int t = threadIdx.x;
    float v = x[blockIdx.x * 64 + t];
    if (t % 32 < 16) {
        const float other = __shfl_down_sync(0xffffffffu, v, 16);
        v += other;
    }
    s[t] = v;
    __syncthreads();
    y[blockIdx.x * 64 + t] = s[63 - t];
}

torch::Tensor folded(torch::Tensor x) {
    auto y = torch::empty_like(x);
    fold_halves<<<x.size(0), 64>>>(x.data_ptr<float>(), y.data_ptr<float>());
    return y;
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.halves = load_inline(
            name="halves",
            cpp_sources=["torch::Tensor folded(torch::Tensor x);"],
            cuda_sources=[cuda_source],
            functions=["folded"],
            extra_cuda_cflags=["-O3"],
            verbose=False,
        )

    def forward(self, x):
        return self.halves.folded(x)
