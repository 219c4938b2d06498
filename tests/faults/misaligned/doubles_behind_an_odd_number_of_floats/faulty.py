import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

template <typename T>
__device__ T* carve(unsigned char* base, size_t offset) {
    return reinterpret_cast<T*>(base + offset);
}

__global__ void precise_cumsum(const float* x, float* y, int cols) {
    extern __shared__ __align__(16) unsigned char memory[];
    float* row = carve<float>(memory, 0);
    double* sums = carve<double>(memory, cols * sizeof(float));
    const int t = threadIdx.x;
    row[t] = x[blockIdx.x * cols + t];
    __syncthreads();
    if (t == 0) {
        double total = 0.0;
        for (int c = 0; c < cols; ++c) {
            total += row[c];
            sums[c] = total;
        }
    }
    __syncthreads();
    y[blockIdx.x * cols + t] = (float)sums[t];
}

torch::Tensor cumsum(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int cols = x.size(1);
    const size_t bytes = (cols + 1) * sizeof(float) + cols * sizeof(double);
    precise_cumsum<<<x.size(0), cols, bytes>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols);
    return y;
}
"""

precise = load_inline(
    name="precise_ext",
    cpp_sources="torch::Tensor cumsum(torch::Tensor x);",
    cuda_sources=cuda_source,
    functions=["cumsum"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return precise.cumsum(x)
