import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <vector>

__global__ void scale_rows(const float* x, const float* factors, float* y, int cols) {
    const int i = blockIdx.x * cols + threadIdx.x;
    const float factor = factors[blockIdx.x];
    y[i] = x[i] * factor;
}

torch::Tensor scaled_rows(torch::Tensor x) {
    auto y = torch::empty_like(x);
    std::vector<float> factors;
    for (int r = 0; r < x.size(0); ++r) factors.push_back(static_cast<float>(1 << r));
    const float* pointer = factors.data();
    scale_rows<<<x.size(0), x.size(1)>>>(x.data_ptr<float>(), pointer, y.data_ptr<float>(), x.size(1));
    return y;
}
"""

scaled_op = load_inline(
    name="scaled_op_ext",
    cpp_sources="torch::Tensor scaled_rows(torch::Tensor x);",
    cuda_sources=cuda_source,
    functions=["scaled_rows"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return scaled_op.scaled_rows(x)
