import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = r"""
#include <torch/extension.h>
#define BM 128
#define BK 8
#define TM 8
__global__ void mm(const float* A, const float* B, float* C, int n) {
    __shared__ float As[BK][BM];
    __shared__ float Bs[BK][BM];
    int tid = threadIdx.x;
    int row0 = blockIdx.y * BM, col0 = blockIdx.x * BM;
    int ty = tid / 16, tx = tid % 16;
    float acc[TM][TM];
    for (int i = 0; i < TM; ++i) for (int j = 0; j < TM; ++j) acc[i][j] = 0.f;
    for (int k0 = 0; k0 < n; k0 += BK) {
        for (int i = tid; i < BM * BK; i += 256) As[i % BK][i / BK] = A[(size_t)(row0 + i / BK) * n + k0 + i % BK];
        for (int i = tid; i < BM * BK; i += 256) Bs[i / BM][i % BM] = B[(size_t)(k0 + i / BM) * n + col0 + i % BM];
        __syncthreads();
        for (int k = 0; k < BK; ++k)
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TM; ++j) acc[i][j] += As[k][ty * TM + i] * Bs[k][tx * TM + j];
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i) for (int j = 0; j < TM; ++j)
        C[(size_t)(row0 + ty * TM + i) * n + col0 + tx * TM + j] = acc[i][j];
}
torch::Tensor matmul(torch::Tensor a, torch::Tensor b) {
    int n = a.size(0);
    auto c = torch::empty_like(a);
    mm<<<dim3(n / BM, n / BM), 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), n);
    return c;
}
"""
ext = load_inline("mm_ext", "torch::Tensor matmul(torch::Tensor a, torch::Tensor b);", src, functions=["matmul"])


class ModelNew(nn.Module):
    def forward(self, a, b):
        return ext.matmul(a, b)
