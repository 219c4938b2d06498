import torch, torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#ifndef SCALE
#define SCALE 2.0f
#endif
__global__ void k(const float* x, float* o, int n){int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n){float v=x[i]; o[i]=(v>0.f?v:0.f)*SCALE+0.25f;}}
torch::Tensor f_cuda(torch::Tensor x){auto o=torch::empty_like(x); int n=x.numel(); k<<<(n+255)/256,256>>>(x.data_ptr<float>(),o.data_ptr<float>(),n); return o;}
"""
m = load_inline(name="rt2x", cpp_sources='#include <torch/extension.h>\n#define SCALE 3.0f\ntorch::Tensor f_cuda(torch::Tensor x);\ntorch::Tensor f(torch::Tensor x){ TORCH_CHECK(SCALE > 1); return f_cuda(x);}', cuda_sources=cuda_src, functions=["f"])
class ModelNew(nn.Module):
    def __init__(self): super().__init__()
    def forward(self, x):
        return m.f(x.contiguous())
