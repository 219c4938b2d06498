import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void argmax_rows(const int* x, int64_t* out, int rows, int cols) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    int best = 0;
    for (int c = 1; c < cols; ++c) {
        if (x[row * cols + c] > x[row * cols + best]) best = c;
    }
    out[row] = best;
}

torch::Tensor argmax(torch::Tensor x) {
    auto out = torch::empty({x.size(0)}, x.options().dtype(torch::kInt64));
    argmax_rows<<<2, 16>>>(x.data_ptr<int>(), out.data_ptr<int64_t>(), x.size(0), x.size(1));
    return out;
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.argmax_op = load_inline(
            name="argmax_op",
            cpp_sources=["torch::Tensor argmax(torch::Tensor x);"],
            cuda_sources=[cuda_source],
            functions=["argmax"],
            extra_cuda_cflags=["-O3"],
            verbose=False,
        )

    def forward(self, x):
        return self.argmax_op.argmax(x)
