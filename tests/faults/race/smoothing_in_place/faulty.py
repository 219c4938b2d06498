import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void smooth(const float* from, float* to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int next = (i + 1) % n;
        float mean = 0.5f * (from[i] + from[next]);
        to[i] = mean;
    }
}

torch::Tensor smoothed(torch::Tensor x) {
    auto y = x.clone();
    int n = x.numel();
    smooth<<<(n + 127) / 128, 128>>>(y.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.smooth = load_inline(
            name="smooth",
            cpp_sources=["torch::Tensor smoothed(torch::Tensor x);"],
            cuda_sources=[cuda_source],
            functions=["smoothed"],
            extra_cuda_cflags=["-O3"],
            verbose=False,
        )

    def forward(self, x):
        return self.smooth.smoothed(x)
