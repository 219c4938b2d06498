import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void fused_kernel(const float* x, const float* w, const float* b, float* y, int in, int out) {
    int r = blockIdx.x;
    for (int o = threadIdx.x; o < out; o += blockDim.x) {
        float acc = b[o];
        for (int i = 0; i < in; ++i) acc = fmaf(x[r * in + i], w[o * in + i], acc);
        y[r * out + o] = acc;
    }
}

torch::Tensor fused(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    auto y = torch::empty({x.size(0), w.size(0)}, x.options());
    fused_kernel<<<x.size(0), 64>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(),
                                    y.data_ptr<float>(), x.size(1), w.size(0));
    return y;
}
"""

ext = load_inline(
    name="fused_linear_gelu",
    cpp_sources="torch::Tensor fused(torch::Tensor x, torch::Tensor w, torch::Tensor b);",
    cuda_sources=cuda_source,
    functions=["fused"],
)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        return ext.fused(x, self.linear.weight, self.linear.bias)
