import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

struct Block {
    const float* data;
    int cols;
};

__global__ void concatenate(Block left, Block right, float* out, int rows) {
    const int row = blockIdx.x;
    const int total = left.cols + right.cols;
    float* target = out + row * total;
    for (int c = threadIdx.x; c < left.cols; c += blockDim.x) target[c] = left.data[row * left.cols + c];
    target += rows;
    for (int c = threadIdx.x; c < right.cols; c += blockDim.x) {
        target[c] = right.data[row * right.cols + c];
    }
}

torch::Tensor concat(torch::Tensor a, torch::Tensor b) {
    const int rows = a.size(0);
    Block left{a.data_ptr<float>(), (int)a.size(1)}, right{b.data_ptr<float>(), (int)b.size(1)};
    auto out = torch::empty({rows, left.cols + right.cols}, a.options());
    concatenate<<<rows, 16>>>(left, right, out.data_ptr<float>(), rows);
    return out;
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.concat = load_inline(
            name="concat",
            cpp_sources=["torch::Tensor concat(torch::Tensor a, torch::Tensor b);"],
            cuda_sources=[cuda_source],
            functions=["concat"],
            extra_cuda_cflags=["-O3"],
            verbose=False,
        )

    def forward(self, a, b):
        return self.concat.concat(a, b)
