import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void histc_kernel(const float* x, float* counts, int n, int bins) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] >= 0.0f && x[i] <= 1.0f) {
        const int bin = (int)(x[i] * bins);
        atomicAdd(&counts[bin], 1.0f);
    }
}

torch::Tensor histc_cuda(torch::Tensor x, int64_t bins) {
    auto counts = torch::zeros({bins}, x.options());
    histc_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), counts.data_ptr<float>(), x.numel(), bins);
    return counts;
}
"""

histc = load_inline(
    name="histc_ext",
    cpp_sources="torch::Tensor histc_cuda(torch::Tensor x, int64_t bins);",
    cuda_sources=cuda_source,
    functions=["histc_cuda"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return histc.histc_cuda(x, 32)
