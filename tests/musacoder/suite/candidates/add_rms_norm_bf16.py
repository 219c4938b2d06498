import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <cuda_bf16.h>
#include <vector>

__global__ void add_norm_kernel(const __nv_bfloat16* answer, const __nv_bfloat16* residual,
                                const __nv_bfloat16* weight, __nv_bfloat16* out, __nv_bfloat16* stream,
                                int features, float eps) {
    __shared__ float partial[8];
    const int64_t row = (int64_t)blockIdx.x * features;
    float sum = 0.0f;
    for (int f = threadIdx.x; f < features; f += blockDim.x) {
        const float both = __bfloat162float(answer[row + f]) + __bfloat162float(residual[row + f]);
        stream[row + f] = __float2bfloat16(both);
        const float stored = __bfloat162float(stream[row + f]);
        sum += stored * stored;
    }
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    float total = 0.0f;
    for (int w = 0; w < blockDim.x / 32; ++w) total += partial[w];
    const float scale = rsqrtf(total / features + eps);
    for (int f = threadIdx.x; f < features; f += blockDim.x) {
        const float normal = __bfloat162float(__float2bfloat16(__bfloat162float(stream[row + f]) * scale));
        out[row + f] = __float2bfloat16(normal * __bfloat162float(weight[f]));
    }
}

static __nv_bfloat16* data(torch::Tensor t) { return reinterpret_cast<__nv_bfloat16*>(t.data_ptr<at::BFloat16>()); }

std::vector<torch::Tensor> add_norm(torch::Tensor answer, torch::Tensor residual, torch::Tensor weight, double eps) {
    auto out = torch::empty_like(answer), stream = torch::empty_like(answer);
    add_norm_kernel<<<answer.size(0), 256>>>(
        data(answer), data(residual), data(weight), data(out), data(stream), answer.size(1), (float)eps);
    return {out, stream};
}
"""

ext = load_inline(
    name="add_norm_ext",
    cpp_sources="std::vector<torch::Tensor> add_norm(torch::Tensor a, torch::Tensor r, torch::Tensor w, double eps);",
    cuda_sources=source,
    functions=["add_norm"],
)


class ModelNew(nn.Module):
    def __init__(self, features, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(features, dtype=torch.bfloat16))
        self.eps = eps

    def forward(self, answer, residual):
        out, stream = ext.add_norm(answer, residual, self.weight, self.eps)
        return out, stream
