import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void row_product(const float* x, float* out) {
    __shared__ float s[128];
    const int t = threadIdx.x;
    s[t] = x[blockIdx.x * 128 + t];
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (t < half) {
            s[t] *= s[t + half];
        }
        __syncthreads();
    }
    __syncthreads();
    if (t == 127) out[blockIdx.x] = s[0];
}

torch::Tensor products(torch::Tensor x) {
    auto out = torch::empty({x.size(0)}, x.options());
    row_product<<<x.size(0), 128>>>(x.data_ptr<float>(), out.data_ptr<float>());
    return out;
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.products_op = load_inline(
            name="products_op",
            cpp_sources=["torch::Tensor products(torch::Tensor x);"],
            cuda_sources=[cuda_source],
            functions=["products"],
            extra_cuda_cflags=["-O3"],
            verbose=False,
        )

    def forward(self, x):
        return self.products_op.products(x)
