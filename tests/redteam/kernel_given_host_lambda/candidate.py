import torch
from torch.utils.cpp_extension import load_inline
source = r"""

#include <cuda_runtime.h>
#include <algorithm>
#include <functional>
template <class F> __global__ void each(F f, float* o, int m) { f(o + blockIdx.x * m, o + blockIdx.x * m + m); }
torch::Tensor run(torch::Tensor a) { auto o = a.clone(); each<<<a.size(0),1>>>([](float* p, float* q) { std::sort(p, q); }, o.data_ptr<float>(), (int)a.size(1)); return o; }

"""
ext = load_inline("m92", "torch::Tensor run(torch::Tensor a);", source, functions=["run"])
class ModelNew(torch.nn.Module):
    def forward(self, *a):
        return ext.run(*a)
