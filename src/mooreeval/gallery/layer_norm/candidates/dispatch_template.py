import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

template <typename T, int THREADS>
__device__ T block_sum(T value) {
    __shared__ T partial[THREADS / 32];
    for (int d = 16; d > 0; d >>= 1) value += __shfl_down_sync(0xffffffff, value, d);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    T total = 0;
    #pragma unroll
    for (int w = 0; w < THREADS / 32; ++w) total += partial[w];
    __syncthreads();
    return total;
}

template <typename T, int THREADS>
__global__ void __launch_bounds__(THREADS) layer_norm_kernel(
    const T* __restrict__ x, const T* __restrict__ gamma, const T* __restrict__ beta, T* __restrict__ y,
    int features, T eps) {
    const T* in = x + static_cast<int64_t>(blockIdx.x) * features;
    T* out = y + static_cast<int64_t>(blockIdx.x) * features;
    T sum = 0;
    for (int f = threadIdx.x; f < features; f += THREADS) sum += in[f];
    const T mean = block_sum<T, THREADS>(sum) / features;
    T square = 0;
    for (int f = threadIdx.x; f < features; f += THREADS) square += (in[f] - mean) * (in[f] - mean);
    const T scale = rsqrt(block_sum<T, THREADS>(square) / features + eps);
    for (int f = threadIdx.x; f < features; f += THREADS) out[f] = (in[f] - mean) * scale * gamma[f] + beta[f];
}

torch::Tensor layer_norm(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, double eps) {
    const at::cuda::OptionalCUDAGuard guard(x.device());
    auto y = torch::empty_like(x);
    const int features = x.size(-1);
    const int rows = x.numel() / features;
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "layer_norm", [&] {
        layer_norm_kernel<scalar_t, 128><<<rows, 128, 0, at::cuda::getCurrentCUDAStream()>>>(
            x.data_ptr<scalar_t>(), gamma.data_ptr<scalar_t>(), beta.data_ptr<scalar_t>(),
            y.data_ptr<scalar_t>(), features, static_cast<scalar_t>(eps));
    });
    C10_CUDA_CHECK(cudaGetLastError());
    return y;
}
"""

cpp_source = """
torch::Tensor layer_norm(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, double eps);
"""

layer_norm_ext = load_inline(
    name="layer_norm_ext", cpp_sources=cpp_source, cuda_sources=cuda_source, functions=["layer_norm"]
)


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return layer_norm_ext.layer_norm(x, self.norm.weight, self.norm.bias, self.norm.eps)
