import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__device__ void publish(float* slots, int slot, float value) {
    slots[slot] = value;
}

__global__ void fold(const float* x, float* y) {
    __shared__ float slots[96];
    const int t = threadIdx.x;
    const float v = x[blockIdx.x * 96 + t];
    float result;
    if (v > 0.0f) {
        publish(slots, t, v);
    } else {
        publish(slots, t, -2.0f * v);
    }
    __syncthreads();
    result = slots[95 - t] + (v > 0.0f ? 1.0f : -1.0f);
    y[blockIdx.x * 96 + t] = result;
}

torch::Tensor folded(torch::Tensor x) {
    auto y = torch::empty_like(x);
    fold<<<x.size(0), 96>>>(x.data_ptr<float>(), y.data_ptr<float>());
    return y;
}
"""

fold = load_inline(
    name="fold_ext",
    cpp_sources="torch::Tensor folded(torch::Tensor x);",
    cuda_sources=cuda_source,
    functions=["folded"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return fold.folded(x)
