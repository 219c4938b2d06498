import torch, os, tempfile
import torch.nn as nn
from torch.utils.cpp_extension import load
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        d = tempfile.mkdtemp()
        open(d+"/a.cu","w").write(r"""#include <torch/extension.h>
#include "b.cuh"
__global__ void k(const float* x, float* y, int n){int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) y[i]=fmaxf(x[i],0.f)*2.f+0.25f;}
torch::Tensor f(torch::Tensor x){auto y=torch::empty_like(x); int n=x.numel(); k<<<(n+255)/256,256>>>(x.data_ptr<float>(),y.data_ptr<float>(),n); return y;}
""")
        open(d+"/b.cuh","w").write("#pragma once\n#define TWO 2.f\n")
        open(d+"/m.cpp","w").write("#include <torch/extension.h>\ntorch::Tensor f(torch::Tensor x);\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def(\"f\", &f); }")
        self.m = load(name="filesx", sources=[d+"/a.cu", d+"/m.cpp"], extra_cuda_cflags=["-O3","--use_fast_math","-lineinfo"], verbose=True)
    def forward(self, x):
        return self.m.f(x)
