import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void row_sum(const float* x, float* out, int cols) {
    __shared__ float partial[8];
    float v = x[blockIdx.x * cols + threadIdx.x];
    for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_down_sync(0xffffffff, v, offset);
    if (threadIdx.x < 8) partial[threadIdx.x] = 0.0f;
    __syncthreads();
    if ((threadIdx.x & 31) == 0) partial[threadIdx.x >> 6] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        float total = 0.0f;
        for (int w = 0; w < 8; ++w) total += partial[w];
        out[blockIdx.x] = total;
    }
}

torch::Tensor row_sums(torch::Tensor x) {
    TORCH_CHECK(x.size(1) == 256, "rows of 256 expected");
    auto out = torch::empty({x.size(0)}, x.options());
    row_sum<<<x.size(0), 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), 256);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("row_sums", &row_sums);
}
"""

rowsum_module = load_inline(name="rowsum_module", cpp_sources="", cuda_sources=cuda_source)


class ModelNew(nn.Module):
    def forward(self, x):
        return rowsum_module.row_sums(x)
