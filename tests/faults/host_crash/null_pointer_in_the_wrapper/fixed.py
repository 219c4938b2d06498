import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

struct Settings {
    float shift;
};

__global__ void add_shift(const float* x, float* y, float shift, int n) {
    int i = threadIdx.x;
    if (i < n) y[i] = x[i] + shift;
}

torch::Tensor shifted(torch::Tensor x) {
    auto y = torch::empty_like(x);
    Settings storage;
    Settings* volatile settings = &storage;
    settings->shift = 3.0f;
    add_shift<<<1, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), settings->shift, x.numel());
    return y;
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.shifted = load_inline(
            name="shifted",
            cpp_sources=["torch::Tensor shifted(torch::Tensor x);"],
            cuda_sources=[cuda_source],
            functions=["shifted"],
            extra_cuda_cflags=["-O3"],
            verbose=False,
        )

    def forward(self, x):
        return self.shifted.shifted(x)
