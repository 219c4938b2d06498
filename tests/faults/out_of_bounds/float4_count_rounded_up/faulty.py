import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__device__ __forceinline__ float sigmoid(float v) { return 1.0f / (1.0f + expf(-v)); }

__global__ void sigmoid4(const float4* __restrict__ x, float4* __restrict__ y, int quads) {
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q < quads) {
        float4 v = x[q];
        v.x = sigmoid(v.x);
        v.y = sigmoid(v.y);
        v.z = sigmoid(v.z);
        v.w = sigmoid(v.w);
        y[q] = v;
    }
}

__global__ void sigmoid_rest(const float* x, float* y, int first, int n) {
    int i = first + threadIdx.x;
    if (i < n) y[i] = sigmoid(x[i]);
}

torch::Tensor sigmoid_cuda(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    int quads = (n + 3) / 4;
    sigmoid4<<<(quads + 63) / 64, 64>>>((const float4*)x.data_ptr<float>(), (float4*)y.data_ptr<float>(), quads);
    sigmoid_rest<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), quads * 4, n);
    return y;
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.sig = load_inline(
            name="sig",
            cpp_sources=["torch::Tensor sigmoid_cuda(torch::Tensor x);"],
            cuda_sources=[cuda_source],
            functions=["sigmoid_cuda"],
            extra_cuda_cflags=["-O3"],
            verbose=False,
        )

    def forward(self, x):
        return self.sig.sigmoid_cuda(x)
