import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void find_max(const int* x, int* best, int n) {
    int mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) mine = max(mine, x[i]);
    for (int d = 16; d > 0; d >>= 1) mine = max(mine, __shfl_xor_sync(0xffffffff, mine, d));
    if ((threadIdx.x & 31) == 0) {
        atomicMax(best, mine);
    }
}

torch::Tensor maximum(torch::Tensor x) {
    auto best = torch::zeros({}, x.options());
    find_max<<<6, 64>>>(x.data_ptr<int>(), best.data_ptr<int>(), x.numel());
    return best;
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.maximum = load_inline(
            name="maximum",
            cpp_sources=["torch::Tensor maximum(torch::Tensor x);"],
            cuda_sources=[cuda_source],
            functions=["maximum"],
            extra_cuda_cflags=["-O3"],
            verbose=False,
        )

    def forward(self, x):
        return self.maximum.maximum(x)
