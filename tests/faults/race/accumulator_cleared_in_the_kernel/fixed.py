import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void dot_kernel(const float* x, const float* y, float* result, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < n ? x[i] * y[i] : 0.0f;
    for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffff, v, d);
    if (threadIdx.x % 32 == 0) atomicAdd(result, v);
}

torch::Tensor dot(torch::Tensor x, torch::Tensor y) {
    auto result = torch::zeros({}, x.options());
    const int n = x.numel();
    dot_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), result.data_ptr<float>(), n);
    return result;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("dot", &dot);
}
"""

dot_module = load_inline(name="dot_module", cpp_sources="", cuda_sources=cuda_source)


class ModelNew(nn.Module):
    def forward(self, x, y):
        return dot_module.dot(x, y)
