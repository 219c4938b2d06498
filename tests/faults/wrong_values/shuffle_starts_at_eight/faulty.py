import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void warp_row_sum(const float* x, float* out) {
    float v = x[blockIdx.x * 32 + threadIdx.x];
    #pragma unroll
    for (int mask = 8; mask > 0; mask >>= 1) {
        v += __shfl_xor_sync(0xffffffffu, v, mask);
    }
    if (threadIdx.x == 0) out[blockIdx.x] = v;
}

torch::Tensor sums(torch::Tensor x) {
    auto out = torch::empty({x.size(0), 1}, x.options());
    warp_row_sum<<<x.size(0), 32>>>(x.data_ptr<float>(), out.data_ptr<float>());
    return out;
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.warp_sums = load_inline(
            name="warp_sums",
            cpp_sources=["torch::Tensor sums(torch::Tensor x);"],
            cuda_sources=[cuda_source],
            functions=["sums"],
            extra_cuda_cflags=["-O3"],
            verbose=False,
        )

    def forward(self, x):
        return self.warp_sums.sums(x)
