import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void add_mirror(const double* x, double* y, int cols) {
    extern __shared__ double line[];
    line[threadIdx.x] = x[blockIdx.x * cols + threadIdx.x];
    __syncthreads();
    y[blockIdx.x * cols + threadIdx.x] = line[threadIdx.x] + line[cols - 1 - threadIdx.x];
}

torch::Tensor mirror(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int cols = x.size(1);
    const size_t shared = cols;
    add_mirror<<<x.size(0), cols, shared>>>(x.data_ptr<double>(), y.data_ptr<double>(), cols);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("mirror", &mirror);
}
"""

mirror_module = load_inline(name="mirror_module", cpp_sources="", cuda_sources=cuda_source)


class ModelNew(nn.Module):
    def forward(self, x):
        return mirror_module.mirror(x)
