import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void abs_plus_one(const float* x, float* y, int n) {
    const int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 2 * stride) {
        float first = x[i];
        y[i] = fabsf(first) + 1.0f;
        if (i + stride < n) {
            float second = x[i + stride];
            y[i + stride] = fabsf(second) + 1.0f;
        }
    }
}

torch::Tensor abs_one(torch::Tensor x) {
    auto y = torch::empty_like(x);
    abs_plus_one<<<3, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""

cpp_source = """
#include <torch/extension.h>
torch::Tensor abs_one(torch::Tensor x);
"""

absone = load_inline(
    name="absone_c",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions={"abs_one": "abs_one (CUDA)"},
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()
        self.absone = absone

    def forward(self, x):
        return self.absone.abs_one(x)
