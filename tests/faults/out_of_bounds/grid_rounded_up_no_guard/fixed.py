import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void square_plus_one(const int* in, int* out, int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = in[i];
    out[i] = v * v + 1;
}

torch::Tensor square_plus_one_cuda(torch::Tensor in) {
    auto out = torch::empty_like(in);
    const int n = in.numel();
    dim3 block(256);
    dim3 grid((n + block.x - 1) / block.x);
    square_plus_one<<<grid, block>>>(in.data_ptr<int>(), out.data_ptr<int>(), n);
    return out;
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.square = load_inline(
            name="square",
            cpp_sources=["torch::Tensor square_plus_one_cuda(torch::Tensor in);"],
            cuda_sources=[cuda_source],
            functions=["square_plus_one_cuda"],
            extra_cuda_cflags=["-O3"],
            verbose=False,
        )

    def forward(self, x):
        return self.square.square_plus_one_cuda(x)
