import torch, torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#define CHECK(x) TORCH_CHECK(x.is_cuda(), "cuda!")
static int cdiv(int a,int b){return (a+b-1)/b;}
namespace { struct P{int n; float s;}; }
__global__ void k(const float* x, float* o, P p){int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<p.n){float v=x[i]; o[i]=(v>0.f?v:0.f)*p.s+0.25f;}}
torch::Tensor f_cuda(torch::Tensor x){auto o=torch::empty_like(x); int n=x.numel(); k<<<cdiv(n,256),256>>>(x.data_ptr<float>(),o.data_ptr<float>(),P{n,2.f}); return o;}
"""
m = load_inline(name="rt2x", cpp_sources='#include <torch/extension.h>\n#define CHECK(x) TORCH_CHECK(x.dim()==2, "2d")\nstatic int cdiv(int a,int b){return a/b;}\nnamespace { struct P{double z;}; }\ntorch::Tensor f_cuda(torch::Tensor x);\ntorch::Tensor f(torch::Tensor x){ CHECK(x); P p{1.0}; return cdiv(5,2)==2 ? f_cuda(x) : x;}', cuda_sources=cuda_src, functions=["f"])
class ModelNew(nn.Module):
    def __init__(self): super().__init__()
    def forward(self, x):
        return m.f(x.contiguous())
