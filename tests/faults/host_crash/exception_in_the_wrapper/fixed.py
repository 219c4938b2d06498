import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <stdexcept>

__global__ void column_max(const float* x, float* y, int rows, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= cols) return;
    float best = x[c];
    for (int r = 1; r < rows; ++r) best = fmaxf(best, x[r * cols + c]);
    y[c] = best;
}

torch::Tensor columns(torch::Tensor x) {
    if (x.size(0) < 1) throw std::runtime_error("at least one row is needed");
    auto y = torch::empty({x.size(1)}, x.options());
    column_max<<<4, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}
"""

cpp_source = """
#include <torch/extension.h>
torch::Tensor columns(torch::Tensor x);
"""

columns_op = load_inline(
    name="columns_op_c",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions={"columns": "columns (CUDA)"},
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()
        self.columns_op = columns_op

    def forward(self, x):
        return self.columns_op.columns(x)
