import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cstring>

__global__ void block_sum(const float* x, float* sums) {
    float v = x[blockIdx.x * 32 + threadIdx.x];
    for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffff, v, d);
    if (threadIdx.x == 0) sums[blockIdx.x] = v;
}

torch::Tensor twice_sum(torch::Tensor x) {
    const int blocks = x.numel() / 32;
    auto sums = torch::empty({blocks}, x.options());
    block_sum<<<blocks, 32>>>(x.data_ptr<float>(), sums.data_ptr<float>());
    float host[8];
    memcpy(host, sums.data_ptr<float>(), blocks * sizeof(float));
    float total = 0.0f;
    for (int b = 0; b < blocks; ++b) total += host[b];
    return torch::full({}, 2.0f * total, x.options());
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("twice_sum", &twice_sum);
}
"""

twice_sum_module = load_inline(name="twice_sum_module", cpp_sources="", cuda_sources=cuda_source)


class ModelNew(nn.Module):
    def forward(self, x):
        return twice_sum_module.twice_sum(x)
