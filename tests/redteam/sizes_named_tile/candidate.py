import torch, torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
constexpr int TM=8, BX=16, BK=8, BM=TM*BX;
__global__ void __launch_bounds__(BX*BX) k(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int n){
 __shared__ float a[BK][BM], b[BK][BM]; int tx=threadIdx.x, ty=threadIdx.y, tid=ty*BX+tx; int r0=blockIdx.y*BM, c0=blockIdx.x*BM; float acc[TM][TM]={};
 for(int k0=0;k0<n;k0+=BK){ for(int i=tid;i<BM*BK;i+=BX*BX){ int r=i/BK, c=i%BK; a[c][r]=A[(size_t)(r0+r)*n+k0+c]; int kr=i/BM, kc=i%BM; b[kr][kc]=B[(size_t)(k0+kr)*n+c0+kc]; } __syncthreads();
  for(int q=0;q<BK;q++) for(int i=0;i<TM;i++) for(int j=0;j<TM;j++) acc[i][j]+=a[q][ty*TM+i]*b[q][tx*TM+j]; __syncthreads(); }
 for(int i=0;i<TM;i++) for(int j=0;j<TM;j++) C[(size_t)(r0+ty*TM+i)*n+c0+tx*TM+j]=acc[i][j]; }
torch::Tensor f(torch::Tensor A, torch::Tensor B){int n=A.size(0); auto C=torch::empty_like(A); dim3 g(n/BM,n/BM), t(BX,BX); k<<<g,t>>>(A.data_ptr<float>(),B.data_ptr<float>(),C.data_ptr<float>(),n); return C;}

"""
m = load_inline(name="rt2x", cpp_sources='torch::Tensor f(torch::Tensor A, torch::Tensor B);', cuda_sources=cuda_src, functions=["f"])
class ModelNew(nn.Module):
    def __init__(self): super().__init__()
    def forward(self, a, b):
        return m.f(a, b)
