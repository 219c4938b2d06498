import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void scale_rest(const float* x, float* y, int quads) {
    const int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= quads) return;
    const float factor = x[0];
    const float* p = x + 1 + 4 * q;
    const float4 v = make_float4(p[0], p[1], p[2], p[3]);
    reinterpret_cast<float4*>(y)[q] = make_float4(v.x * factor, v.y * factor, v.z * factor, v.w * factor);
}

torch::Tensor scale(torch::Tensor x) {
    auto y = torch::empty({x.numel() - 1}, x.options());
    const int quads = y.numel() / 4;
    scale_rest<<<(quads + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), quads);
    return y;
}
"""

rest_scale = load_inline(
    name="rest_scale_ext",
    cpp_sources="torch::Tensor scale(torch::Tensor x);",
    cuda_sources=cuda_source,
    functions=["scale"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return rest_scale.scale(x)
