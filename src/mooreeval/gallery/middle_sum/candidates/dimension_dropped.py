import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void sum_kernel(const float* x, float* out, int B, int D, int C) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= B * C) return;
    const float* p = x + (i / C) * D * C + i % C;
    float s = 0.f;
    for (int d = 0; d < D; ++d) s += p[d * C];
    out[i] = s;
}

torch::Tensor sum_dim1(torch::Tensor x) {
    int B = x.size(0), D = x.size(1), C = x.size(2);
    auto out = torch::empty({B, C}, x.options());
    sum_kernel<<<(B * C + 127) / 128, 128>>>(x.data_ptr<float>(), out.data_ptr<float>(), B, D, C);
    return out;
}
"""

ext = load_inline(
    name="sum_flat",
    cpp_sources="torch::Tensor sum_dim1(torch::Tensor x);",
    cuda_sources=cuda_source,
    functions=["sum_dim1"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.sum_dim1(x)
