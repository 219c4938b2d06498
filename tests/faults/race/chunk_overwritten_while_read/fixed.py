import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

template <int CHUNK>
__global__ void rest_of_chunk(const int* x, int* y, int length) {
    __shared__ int chunk[CHUNK];
    x += blockIdx.x * length;
    y += blockIdx.x * length;
    for (int start = 0; start < length; start += CHUNK) {
        chunk[threadIdx.x] = x[start + threadIdx.x];
        __syncthreads();
        int total = 0;
        for (int i = 0; i < CHUNK; ++i) total += chunk[i];
        y[start + threadIdx.x] = total - x[start + threadIdx.x];
        __syncthreads();
    }
}

torch::Tensor rest(torch::Tensor x) {
    auto y = torch::empty({x.size(0), x.size(1) / 128, 128}, x.options());
    rest_of_chunk<128><<<x.size(0), 128>>>(x.data_ptr<int>(), y.data_ptr<int>(), x.size(1));
    return y;
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.rest = load_inline(
            name="rest",
            cpp_sources=["torch::Tensor rest(torch::Tensor x);"],
            cuda_sources=[cuda_source],
            functions=["rest"],
            extra_cuda_cflags=["-O3"],
            verbose=False,
        )

    def forward(self, x):
        return self.rest.rest(x)
