import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void pair_sums(const float* x, float* y) {
    __shared__ float s[64];
    const int t = threadIdx.x;
    const int i = blockIdx.x * 64 + t;
    s[t] = x[i];
    if (t % 2 == 0) {
        __syncwarp();
        s[t] += s[t + 1];
    }
    __syncthreads();
    y[i] = s[t / 2 * 2];
}

torch::Tensor pairs(torch::Tensor x) {
    auto y = torch::empty_like(x);
    pair_sums<<<x.size(0), 64>>>(x.data_ptr<float>(), y.data_ptr<float>());
    return y;
}
"""

pairs = load_inline(
    name="pairs_ext",
    cpp_sources="torch::Tensor pairs(torch::Tensor x);",
    cuda_sources=cuda_source,
    functions=["pairs"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return pairs.pairs(x)
