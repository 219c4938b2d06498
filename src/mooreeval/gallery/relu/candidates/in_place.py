import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void relu_inplace_kernel(float* data, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        if (data[i] < 0.0f) data[i] = 0.0f;
    }
}

torch::Tensor relu_inplace(torch::Tensor x) {
    int n = x.numel();
    relu_inplace_kernel<<<(n + 1023) / 1024, 256>>>(x.data_ptr<float>(), n);
    return x;
}
"""

ext = load_inline(
    name="relu_inplace",
    cpp_sources="torch::Tensor relu_inplace(torch::Tensor x);",
    cuda_sources=cuda_source,
    functions={"relu_inplace": "ReLU without an extra buffer"},
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu_inplace(x)
