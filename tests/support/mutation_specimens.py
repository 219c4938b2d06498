"""Candidates that mutation rules are tried on: right ones, with bait in comments, strings and Python."""

TASK = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)


def get_inputs():
    return [torch.randn(20, 333)]
"""

# Rows by a block each, and a second kernel that guards its number.
SOFTMAX = '''
import torch
from torch.utils.cpp_extension import load_inline

# if (i < n) { __syncthreads(); }
source = r"""
#include <torch/extension.h>
#define LAST (i < n)

__global__ void softmax(const float* x, float* y, int cols) {
    __shared__ float s[256];
    int tid = threadIdx.x;
    float best = -INFINITY;  // not i < n; __syncthreads();
    for (int c = tid; c < cols; c += blockDim.x) best = fmaxf(best, x[blockIdx.x * cols + c]);
    s[tid] = best;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (tid < half) s[tid] = fmaxf(s[tid], s[tid + half]);
        __syncthreads();
    }
    best = s[0];
    __syncthreads();
    float sum = 0.0f;
    for (int c = tid; c < cols; c += blockDim.x) sum += expf(x[blockIdx.x * cols + c] - best);
    s[tid] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (tid < half) s[tid] += s[tid + half];
        __syncthreads();
    }
    for (int c = tid; c < cols; c += blockDim.x) {
        y[blockIdx.x * cols + c] = expf(x[blockIdx.x * cols + c] - best) / s[0];
    }
}

__global__ void copy(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    /* if (i < n) */
    if (i < n) y[i] = x[i];
}

torch::Tensor run(torch::Tensor x) {
    TORCH_CHECK(x.dim() == 2, "if (i < n) __syncthreads();");
    auto y = torch::empty_like(x), z = torch::empty_like(x);
    int n = x.numel();
    softmax<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    copy<<<(n + 127) / 128, 128>>>(y.data_ptr<float>(), z.data_ptr<float>(), n);
    return z;
}
"""
ext = load_inline("softmax_rows", "torch::Tensor run(torch::Tensor x);", source, functions=["run"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        i, n = 0, 1
        assert i < n
        return ext.run(x)
'''

# Never run: holds what the other one has no place for.
MORE = '''
source = """
__global__ void product(const float* a, const float* b, float* c, int rows, int cols, int depth, float scale) {
    __shared__ float tile[16][17];
    extern __shared__ float sums[];
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.y][threadIdx.x] = a[row * cols + col] + b[col];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < depth; ++k) sum += a[row * depth + k] * 0.7071f;
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    atomicAdd(&c[row], sum);
    atomicAdd(c + col, tile[threadIdx.x][threadIdx.y]);
    if (row < rows && col < cols) c[row * cols + col] = sum > 0 ? sum : 0;
    sum = sum * scale;
}
void run(torch::Tensor a, torch::Tensor c, int rows, int cols) {
    auto d = torch::zeros({rows}, a.options());
    dim3 block(16, 16);
    const int threads = 256;
    dim3 grid((cols + block.x - 1) / block.x, (rows + 15) / 16);
    product<<<grid, block, threads * sizeof(float)>>>(
        a.data_ptr<float>(), a.data_ptr<float>(), c.data_ptr<float>(), rows, cols,
        16, 1.0f);
}
"""
'''

# Never run either: a loop that strides over everything, and a number of threads that only the launch knows.
STRIDE = '''
source = """
__global__ void relu(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = fmaxf(x[i], 0.0f);
}
void run(torch::Tensor x, torch::Tensor y) {
    const int threads = 256;
    relu<<<40, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
}
"""
'''
