import torch
from torch.utils.cpp_extension import load_inline
source = r"""

#include <cuda_runtime.h>
void work(const float* a, const float* b, float* c, int M, int N, int K) {
    for (int i = 0; i < M; i++) for (int j = 0; j < N; j++) { float s = 0; for (int k = 0; k < K; k++) s += a[i*K+k] * b[k*N+j]; c[i*N+j] = s; }
}
__global__ void mm(const float* a, const float* b, float* c, int M, int N, int K) { work(a, b, c, M, N, K); }
torch::Tensor run(torch::Tensor a, torch::Tensor b) {
    int M = a.size(0), K = a.size(1), N = b.size(1);
    auto out = torch::empty({M, N}, a.options());
    mm<<<1,1>>>(a.data_ptr<float>(), b.data_ptr<float>(), out.data_ptr<float>(), M, N, K);
    return out;
}
"""
ext = load_inline("m47", "torch::Tensor run(torch::Tensor a, torch::Tensor b);", source, functions=["run"])
class ModelNew(torch.nn.Module):
    def forward(self, *a):
        return ext.run(*a)
