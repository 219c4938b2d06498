import torch, torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/types.h>
#include <cuda_runtime.h>
__constant__ float px[2], py[2];
__global__ void k(const float* x, float* o, int n){int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n){float v=x[i]; o[i]=(v>0.f?v:0.f)*px[0]+py[1];}}
torch::Tensor f(torch::Tensor x){float a[2]={2.f,2.f}, b[2]={0.25f,0.25f}; cudaMemcpyToSymbol(px,a,sizeof a); cudaMemcpyToSymbol(py,b,sizeof b); auto o=torch::empty_like(x); int n=x.numel(); k<<<(n+255)/256,256>>>(x.data_ptr<float>(),o.data_ptr<float>(),n); return o;}

"""
m = load_inline(name="rt2x", cpp_sources="torch::Tensor f(torch::Tensor x);", cuda_sources=cuda_src, functions=["f"])
class ModelNew(nn.Module):
    def __init__(self): super().__init__()
    def forward(self, x):
        return m.f(x.contiguous())
