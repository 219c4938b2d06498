import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cfloat>

#define FULL_MASK 0xffffffffu

__device__ __forceinline__ float warp_max(float v) {
    #pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) v = fmaxf(v, __shfl_xor_sync(FULL_MASK, v, offset));
    return v;
}

__device__ __forceinline__ float warp_sum(float v) {
    #pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(FULL_MASK, v, offset);
    return v;
}

__global__ void softmax_warp(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
    const int row = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    const int lane = threadIdx.x & 31;
    if (row >= rows) return;
    x += (long long)row * cols;
    y += (long long)row * cols;
    float m = -FLT_MAX;
    for (int c = lane; c < cols; c += 32) m = fmaxf(m, __ldg(x + c));
    m = warp_max(m);
    float s = 0.f;
    for (int c = lane; c < cols; c += 32) s += __expf(x[c] - m);
    s = warp_sum(s);
    for (int c = lane; c < cols; c += 32) y[c] = __fdividef(__expf(x[c] - m), s);
}

torch::Tensor softmax_warp_forward(const torch::Tensor& x) {
    auto y = torch::empty_like(x);
    const int rows = x.size(0), cols = x.size(1), warps = 5;
    dim3 grid((rows + warps - 1) / warps), block(warps * 32);
    softmax_warp<<<grid, block>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);
    return y;
}
"""

op = load_inline(
    name="softmax_warp",
    cpp_sources=["#include <torch/extension.h>\ntorch::Tensor softmax_warp_forward(const torch::Tensor& x);"],
    cuda_sources=[source],
    functions=["softmax_warp_forward"],
    extra_cflags=["-O2"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fn = op.softmax_warp_forward

    def forward(self, x):
        return self.fn(x)
