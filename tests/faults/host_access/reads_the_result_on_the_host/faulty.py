import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void peak_kernel(const float* x, int* peak_bits, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        atomicMax(peak_bits, __float_as_int(fabsf(x[i])));
    }
}

__global__ void divide_kernel(const float* x, float* y, float divisor, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] / divisor;
}

torch::Tensor normalise(torch::Tensor x) {
    auto peak = torch::zeros({1}, x.options());
    auto y = torch::empty_like(x);
    const int n = x.numel();
    peak_kernel<<<2, 128>>>(x.data_ptr<float>(), reinterpret_cast<int*>(peak.data_ptr<float>()), n);
    cudaDeviceSynchronize();
    const float divisor = *peak.data_ptr<float>();
    divide_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), divisor, n);
    return y;
}
"""

normalise_op = load_inline(
    name="normalise_op_ext",
    cpp_sources="torch::Tensor normalise(torch::Tensor x);",
    cuda_sources=cuda_source,
    functions=["normalise"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return normalise_op.normalise(x)
