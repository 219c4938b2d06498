import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void histogram_kernel(const int64_t* x, int64_t* counts, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd((unsigned long long*)&counts[x[i]], 1ull);
    }
}

torch::Tensor histogram(torch::Tensor x, int64_t bins) {
    auto counts = torch::zeros({bins}, x.options());
    int n = x.numel();
    int threads = 512;
    int blocks = threads / 512;
    histogram_kernel<<<blocks, threads>>>(x.data_ptr<int64_t>(), counts.data_ptr<int64_t>(), n);
    return counts;
}
"""

ext = load_inline(
    name="histogram_global",
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
