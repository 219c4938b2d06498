import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void row_range(const float* x, float* out, int cols) {
    extern __shared__ float shared[];
    float* low = shared;
    float* high = shared + blockDim.x;
    const int t = threadIdx.x;
    const float v = x[blockIdx.x * cols + t];
    low[t] = v;
    high[t] = v;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s) {
            low[t] = fminf(low[t], low[t + s]);
            high[t] = fmaxf(high[t], high[t + s]);
        }
        __syncthreads();
    }
    if (t < 2) out[blockIdx.x * 2 + t] = t == 0 ? low[0] : high[0];
}

torch::Tensor ranges(torch::Tensor x) {
    const int threads = x.size(1);
    auto out = torch::empty({x.size(0), 2}, x.options());
    row_range<<<x.size(0), threads, 2 * threads * sizeof(float)>>>(x.data_ptr<float>(), out.data_ptr<float>(), threads);
    return out;
}
"""

cpp_source = """
#include <torch/extension.h>
torch::Tensor ranges(torch::Tensor x);
"""

ranges = load_inline(
    name="ranges_c",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions={"ranges": "ranges (CUDA)"},
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()
        self.ranges = ranges

    def forward(self, x):
        return self.ranges.ranges(x)
