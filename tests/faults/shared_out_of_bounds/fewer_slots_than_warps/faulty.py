import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

struct Partials {
    int of_warp[4];
};

__global__ void row_sums(const int* x, int* out) {
    __shared__ Partials partials;
    int v = x[blockIdx.x * 256 + threadIdx.x];
    for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
    if (threadIdx.x % 32 == 0) partials.of_warp[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int w = 0; w < blockDim.x / 32; ++w) sum += partials.of_warp[w];
        out[blockIdx.x] = sum;
    }
}

torch::Tensor sums(torch::Tensor x) {
    auto out = torch::empty({x.size(0)}, x.options());
    row_sums<<<x.size(0), 256>>>(x.data_ptr<int>(), out.data_ptr<int>());
    return out;
}
"""

sums_op = load_inline(
    name="sums_op_ext",
    cpp_sources="torch::Tensor sums(torch::Tensor x);",
    cuda_sources=cuda_source,
    functions=["sums"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return sums_op.sums(x)
