import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void sign_kernel(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        y[i] = (x[i] > 0.0f) - (x[i] < 0.0f);
    }
}

torch::Tensor sign(torch::Tensor x) {
    auto y = torch::empty({x.size(0), x.size(1)}, x.options());
    sign_kernel<<<2, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.sign_op = load_inline(
            name="sign_op",
            cpp_sources=["torch::Tensor sign(torch::Tensor x);"],
            cuda_sources=[cuda_source],
            functions=["sign"],
            extra_cuda_cflags=["-O3"],
            verbose=False,
        )

    def forward(self, x):
        return self.sign_op.sign(x)
