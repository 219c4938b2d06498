import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void share_of_total(const float* x, float* total, float* y, int n, int stages) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (stages & 1) {
        float v = i < n ? x[i] : 0.0f;
        for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
        if ((threadIdx.x & 31) == 0) atomicAdd(total, v);
        __syncthreads();
    }
    if ((stages & 2) && i < n) {
        y[i] = x[i] / *total;
    }
}

torch::Tensor shares(torch::Tensor x) {
    auto total = torch::zeros({1}, x.options());
    auto y = torch::empty_like(x);
    const int n = x.numel();
    share_of_total<<<n / 128, 128>>>(x.data_ptr<float>(), total.data_ptr<float>(), y.data_ptr<float>(), n, 3);
    return y;
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.shares = load_inline(
            name="shares",
            cpp_sources=["torch::Tensor shares(torch::Tensor x);"],
            cuda_sources=[cuda_source],
            functions=["shares"],
            extra_cuda_cflags=["-O3"],
            verbose=False,
        )

    def forward(self, x):
        return self.shares.shares(x)
