import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void axpy(double a, const double* x, const double* y, double* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) {
        out[i] = a * x[i] + y[i];
    }
}

torch::Tensor axpy_cuda(torch::Tensor x, torch::Tensor y, double a) {
    auto out = torch::empty_like(x);
    int n = x.numel();
    axpy<<<(n + 127) / 128, 128>>>(a, x.data_ptr<double>(), y.data_ptr<double>(), out.data_ptr<double>(), n);
    return out;
}
"""

axpy = load_inline(
    name="axpy_ext",
    cpp_sources="torch::Tensor axpy_cuda(torch::Tensor x, torch::Tensor y, double a);",
    cuda_sources=cuda_source,
    functions=["axpy_cuda"],
)


class ModelNew(nn.Module):
    def forward(self, x, y):
        return axpy.axpy_cuda(x, y, 2.5)
