import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void sum_kernel(const float* x, double* out, int D, int C) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= C) return;
    double s = 0.0;
    for (int d = 0; d < D; ++d) s += x[(blockIdx.y * D + d) * C + c];
    out[blockIdx.y * C + c] = s;
}

torch::Tensor sum_dim1(torch::Tensor x) {
    auto out = torch::empty({x.size(0), 1, x.size(2)}, x.options().dtype(torch::kFloat64));
    dim3 grid((x.size(2) + 63) / 64, x.size(0));
    sum_kernel<<<grid, 64>>>(x.data_ptr<float>(), out.data_ptr<double>(), x.size(1), x.size(2));
    return out;
}
"""

ext = load_inline(
    name="sum_double",
    cpp_sources="torch::Tensor sum_dim1(torch::Tensor x);",
    cuda_sources=cuda_source,
    functions=["sum_dim1"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.sum_dim1(x)
