import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void count(const int* x, int* counts, int n) {
    __shared__ int bins[16];
    __syncthreads();
    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(&bins[x[i]], 1);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&counts[threadIdx.x], bins[threadIdx.x]);
}

torch::Tensor counted(torch::Tensor x) {
    auto counts = torch::zeros({16}, x.options());
    count<<<3, 128>>>(x.data_ptr<int>(), counts.data_ptr<int>(), x.numel());
    return counts;
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.counted = load_inline(
            name="counted",
            cpp_sources=["torch::Tensor counted(torch::Tensor x);"],
            cuda_sources=[cuda_source],
            functions=["counted"],
            extra_cuda_cflags=["-O3"],
            verbose=False,
        )

    def forward(self, x):
        return self.counted.counted(x)
