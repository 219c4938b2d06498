import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void histogram_kernel(const int64_t* x, unsigned long long* counts, int n, int bins) {
    extern __shared__ unsigned int local[];
    for (int b = threadIdx.x; b < bins; b += blockDim.x) local[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&local[x[i]], 1u);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < bins; b += blockDim.x) {
        if (local[b] != 0) atomicAdd(&counts[b], (unsigned long long)local[b]);
    }
}

torch::Tensor histogram(torch::Tensor x, int64_t bins) {
    auto counts = torch::zeros({bins}, x.options());
    histogram_kernel<<<24, 256, bins * sizeof(unsigned int)>>>(
        x.data_ptr<int64_t>(), reinterpret_cast<unsigned long long*>(counts.data_ptr<int64_t>()), x.numel(), bins);
    return counts;
}
"""

ext = load_inline(
    name="histogram_shared",
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
