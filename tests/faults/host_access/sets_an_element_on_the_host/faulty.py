import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void running_product(const float* x, float* y, int n) {
    if (threadIdx.x != 0 || blockIdx.x != 0) return;
    float product = 1.0f;
    for (int i = 0; i < n; ++i) {
        product *= 1.0f / (1.0f + expf(-x[i]));
        y[i + 1] = product;
    }
}

torch::Tensor products(torch::Tensor x) {
    const int n = x.numel();
    auto y = torch::empty({n + 1}, x.options());
    float* out = y.data_ptr<float>();
    out[0] = 1.0f;
    running_product<<<1, 32>>>(x.data_ptr<float>(), out, n);
    return y;
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.running = load_inline(
            name="running",
            cpp_sources=["torch::Tensor products(torch::Tensor x);"],
            cuda_sources=[cuda_source],
            functions=["products"],
            extra_cuda_cflags=["-O3"],
            verbose=False,
        )

    def forward(self, x):
        return self.running.products(x)
