import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void histogram_kernel(const long* x, int* counts, int n) {
    __shared__ int local[64];
    if (threadIdx.x < 64) local[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        local[x[i]]++;
    }
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&counts[threadIdx.x], local[threadIdx.x]);
}

torch::Tensor histogram(torch::Tensor x, int64_t bins) {
    auto counts = torch::zeros({bins}, x.options().dtype(torch::kInt));
    int n = x.numel();
    histogram_kernel<<<(n + 255) / 256, 256>>>((const long*)x.data_ptr<int64_t>(), counts.data_ptr<int>(), n);
    return counts.to(torch::kLong);
}
"""

ext = load_inline(
    name="histogram_plain",
    cpp_sources="torch::Tensor histogram(torch::Tensor x, int64_t bins);",
    cuda_sources=source,
    functions=["histogram"],
)


class ModelNew(nn.Module):
    def __init__(self, bins):
        super().__init__()
        self.bins = bins

    def forward(self, x):
        return ext.histogram(x, self.bins)
