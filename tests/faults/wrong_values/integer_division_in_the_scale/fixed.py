import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void row_mean(const float* x, float* out, int cols) {
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 32) sum += x[blockIdx.x * cols + c];
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(0xffffffff, sum, d);
    const float scale = 1.0f / cols;
    if (threadIdx.x == 0) out[blockIdx.x] = sum * scale;
}

torch::Tensor means(torch::Tensor x) {
    auto out = torch::empty({x.size(0)}, x.options());
    row_mean<<<x.size(0), 32>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
    return out;
}
"""

means_op = load_inline(
    name="means_op_ext",
    cpp_sources="torch::Tensor means(torch::Tensor x);",
    cuda_sources=cuda_source,
    functions=["means"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return means_op.means(x)
