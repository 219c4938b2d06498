import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

scan_source = """
#include <torch/extension.h>

__global__ void scan_rows(const float* in, float* out, int n) {
    __shared__ float s[512];
    const int t = threadIdx.x;
    s[t] = t < n ? in[blockIdx.x * n + t] : 0.0f;
    __syncthreads();
    for (int offset = 1; offset < 512; offset *= 2) {
        float add = 0.0f;
        if (t >= offset) add = s[t - offset];
        s[t] += add;
        __syncthreads();
    }
    if (t < n) out[blockIdx.x * n + t] = s[t];
}

torch::Tensor cumsum_rows(torch::Tensor x) {
    auto out = torch::empty_like(x);
    scan_rows<<<x.size(0), 512>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
    return out;
}
"""

scan = load_inline(
    name="scan_inplace_ext",
    cpp_sources="torch::Tensor cumsum_rows(torch::Tensor x);",
    cuda_sources=scan_source,
    functions=["cumsum_rows"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return scan.cumsum_rows(x)
