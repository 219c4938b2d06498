import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cuda_fp16.h>

__global__ void twice(const __half2* x, __half2* y, int pairs) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pairs) y[i] = __hadd2(x[i], x[i]);
}

__global__ void twice_last(const __half* x, __half* y, int n) {
    if (n % 2 == 1) y[n - 1] = __hadd(x[n - 1], x[n - 1]);
}

torch::Tensor twice_forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int n = x.numel();
    const int pairs = (n + 1) / 2;
    auto in = reinterpret_cast<const __half*>(x.data_ptr<at::Half>());
    auto out = reinterpret_cast<__half*>(y.data_ptr<at::Half>());
    twice<<<(pairs + 63) / 64, 64>>>(reinterpret_cast<const __half2*>(in), reinterpret_cast<__half2*>(out), pairs);
    twice_last<<<1, 1>>>(in, out, n);
    return y;
}
"""

twice = load_inline(
    name="twice_ext",
    cpp_sources="torch::Tensor twice_forward(torch::Tensor x);",
    cuda_sources=cuda_source,
    functions=["twice_forward"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return twice.twice_forward(x)
