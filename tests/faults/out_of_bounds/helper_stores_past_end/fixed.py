import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

template <typename T>
__device__ __forceinline__ void put(T* destination, int index, T value) {
    destination[index] = value;
}

__global__ void shift_right(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) put(y, 0, 0.0f);
    if (i < n - 1) put(y, i + 1, x[i]);
}

torch::Tensor shift(torch::Tensor x) {
    auto y = torch::empty_like(x);
    shift_right<<<(x.numel() + 95) / 96, 96>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("shift", &shift);
}
"""

shift_module = load_inline(name="shift_module", cpp_sources="", cuda_sources=cuda_source)


class ModelNew(nn.Module):
    def forward(self, x):
        return shift_module.shift(x)
