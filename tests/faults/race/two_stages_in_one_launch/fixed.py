import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void roll_of_sine(const float* x, float* sines, float* y, int n, bool first, bool second) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (first && i < n) sines[i] = sinf(x[i]);
    __syncthreads();
    if (second && i < n) y[i] = sines[(i + n - 64) % n] * x[i];
}

torch::Tensor rolled(torch::Tensor x) {
    auto sines = torch::empty_like(x);
    auto y = torch::empty_like(x);
    const int n = x.numel(), blocks = (n + 63) / 64;
    roll_of_sine<<<blocks, 64>>>(x.data_ptr<float>(), sines.data_ptr<float>(), y.data_ptr<float>(), n, true, false);
    roll_of_sine<<<blocks, 64>>>(x.data_ptr<float>(), sines.data_ptr<float>(), y.data_ptr<float>(), n, false, true);
    return y;
}
"""

rolled = load_inline(
    name="rolled_ext",
    cpp_sources="torch::Tensor rolled(torch::Tensor x);",
    cuda_sources=cuda_source,
    functions=["rolled"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return rolled.rolled(x)
