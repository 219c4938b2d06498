import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void grey_levels(const unsigned char* pixels, unsigned long long* levels, int n) {
    __shared__ unsigned int bins[256];
    bins[threadIdx.x] = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 256 * gridDim.x) {
        atomicAdd(bins + pixels[i], 1u);
    }
    __syncthreads();
    atomicAdd(levels + threadIdx.x, static_cast<unsigned long long>(bins[threadIdx.x]));
}

torch::Tensor histogram(torch::Tensor pixels) {
    auto levels = torch::zeros({256}, pixels.options().dtype(torch::kLong));
    grey_levels<<<5, 256>>>(pixels.data_ptr<unsigned char>(), (unsigned long long*)levels.data_ptr<int64_t>(), pixels.numel());
    return levels;
}
"""

grey = load_inline(
    name="grey_ext",
    cpp_sources="torch::Tensor histogram(torch::Tensor pixels);",
    cuda_sources=cuda_source,
    functions=["histogram"],
)


class ModelNew(nn.Module):
    def forward(self, pixels):
        return grey.histogram(pixels)
