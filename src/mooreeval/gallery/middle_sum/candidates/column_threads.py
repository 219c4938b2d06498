import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void sum_dim1_kernel(const float* __restrict__ x, float* __restrict__ out, int D, int C) {
    __shared__ float partial[8][32];
    const int c = blockIdx.x * 32 + threadIdx.x;
    const int b = blockIdx.y;
    float sum = 0.0f;
    if (c < C) {
        for (int d = threadIdx.y; d < D; d += 8) sum += x[((size_t)b * D + d) * C + c];
    }
    partial[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && c < C) {
        float total = 0.0f;
        for (int s = 0; s < 8; ++s) total += partial[s][threadIdx.x];
        out[(size_t)b * C + c] = total;
    }
}

torch::Tensor sum_dim1(torch::Tensor x) {
    int B = x.size(0), D = x.size(1), C = x.size(2);
    auto out = torch::empty({B, 1, C}, x.options());
    sum_dim1_kernel<<<dim3((C + 31) / 32, B), dim3(32, 8)>>>(x.data_ptr<float>(), out.data_ptr<float>(), D, C);
    return out;
}
"""

functions = {"sum_dim1": "Sum over dimension 1, kept with size one"}
ext = load_inline(
    name="sum_dim1_ext",
    cpp_sources="torch::Tensor sum_dim1(torch::Tensor x);",
    cuda_sources=cuda_source,
    functions=functions,
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.sum_dim1(x)
