import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        cuda_source = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>

// 128-bit loads for the body of the array, scalar loads for what is left over.
__global__ void relu_vec4(const float4* __restrict__ x4, float4* __restrict__ out4,
                          const float* __restrict__ x, float* __restrict__ out, int64_t n4, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n4) {
        float4 v = x4[i];
        v.x = v.x > 0.f ? v.x : 0.f;
        v.y = v.y > 0.f ? v.y : 0.f;
        v.z = v.z > 0.f ? v.z : 0.f;
        v.w = v.w > 0.f ? v.w : 0.f;
        out4[i] = v;
    }
    const int64_t tail = n4 * 4 + i;
    if (tail < n) {
        out[tail] = x[tail] > 0.f ? x[tail] : 0.f;
    }
}

torch::Tensor relu_forward(torch::Tensor input) {
    auto x = input.contiguous();
    auto out = torch::empty_like(x);
    const int64_t n = x.numel();
    const int64_t n4 = n / 4;
    const int threads = 128;
    const int64_t blocks = (n4 + threads - 1) / threads;
    relu_vec4<<<blocks, threads>>>(
        reinterpret_cast<const float4*>(x.data_ptr<float>()), reinterpret_cast<float4*>(out.data_ptr<float>()),
        x.data_ptr<float>(), out.data_ptr<float>(), n4, n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""
        self.ops = load_inline(
            name="relu_vectorised",
            cpp_sources=["torch::Tensor relu_forward(torch::Tensor input);"],
            cuda_sources=[cuda_source],
            functions="relu_forward",
            extra_cuda_cflags=["-O3", "--use_fast_math"],
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.ops.relu_forward(x)
