import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

constexpr int BM = 32, BN = 32, BK = 8, TM = 4, TN = 4;

__global__ void __launch_bounds__((BM / TM) * (BN / TN))
gemm_blocked(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int k, int n) {
    __shared__ float a_tile[BK][BM];
    __shared__ float b_tile[BK][BN];
    const int tid = threadIdx.x;
    const int tx = tid % (BN / TN), ty = tid / (BN / TN);
    const int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
    float acc[TM][TN] = {};
    for (int k0 = 0; k0 < k; k0 += BK) {
        for (int e = tid; e < BK * BM; e += blockDim.x) {
            const int r = e / BK, kk = e % BK;
            a_tile[kk][r] = (m0 + r < m && k0 + kk < k) ? a[(m0 + r) * k + k0 + kk] : 0.f;
        }
        for (int e = tid; e < BK * BN; e += blockDim.x) {
            const int kk = e / BN, col = e % BN;
            b_tile[kk][col] = (k0 + kk < k && n0 + col < n) ? b[(k0 + kk) * n + n0 + col] : 0.f;
        }
        __syncthreads();
        for (int kk = 0; kk < BK; ++kk) {
            float fa[TM], fb[TN];
            for (int i = 0; i < TM; ++i) fa[i] = a_tile[kk][ty * TM + i];
            for (int j = 0; j < TN; ++j) fb[j] = b_tile[kk][tx * TN + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) acc[i][j] = fmaf(fa[i], fb[j], acc[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i) {
        const int row = m0 + ty * TM + i;
        for (int j = 0; j < TN; ++j) {
            const int col = n0 + tx * TN + j;
            if (row < m && col < n) c[row * n + col] = acc[i][j];
        }
    }
}

at::Tensor gemm(const at::Tensor& a, const at::Tensor& b) {
    TORCH_CHECK(a.size(1) == b.size(0), "inner dimensions differ: ", a.size(1), " and ", b.size(0));
    const int m = a.size(0), k = a.size(1), n = b.size(1);
    at::Tensor c = at::empty({m, n}, a.options());
    const dim3 grid((n + BN - 1) / BN, (m + BM - 1) / BM);
    gemm_blocked<<<grid, (BM / TM) * (BN / TN), 0, at::cuda::getCurrentCUDAStream()>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), m, k, n);
    return c;
}
"""

gemm_ext = load_inline(
    name="gemm_blocked",
    cpp_sources="at::Tensor gemm(const at::Tensor& a, const at::Tensor& b);",
    cuda_sources=cuda_source,
    functions=["gemm"],
)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return gemm_ext.gemm(a.contiguous(), b.contiguous())
