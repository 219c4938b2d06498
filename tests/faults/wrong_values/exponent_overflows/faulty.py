import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void softmax(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float* in = x + row * cols;
    float peak = in[0];
    for (int c = 1; c < cols; ++c) peak = fmaxf(peak, in[c]);
    const float shift = 0.0f * peak;
    float sum = 0.0f;
    for (int c = 0; c < cols; ++c) sum += expf(in[c] - shift);
    for (int c = 0; c < cols; ++c) y[row * cols + c] = expf(in[c] - shift) / sum;
}

torch::Tensor softmax_cuda(torch::Tensor x) {
    auto y = torch::empty_like(x);
    softmax<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("softmax_cuda", &softmax_cuda);
}
"""

softmax_op_module = load_inline(name="softmax_op_module", cpp_sources="", cuda_sources=cuda_source)


class ModelNew(nn.Module):
    def forward(self, x):
        return softmax_op_module.softmax_cuda(x)
