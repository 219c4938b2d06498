import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void first_times_sum(const float* x, float* out, int cols) {
    __shared__ float running[128];
    const float* row = x + blockIdx.x * cols;
    running[threadIdx.x] = 0.0f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        running[threadIdx.x] += row[c];
        __syncthreads();
    }
    for (int s = 64; s > 0; s >>= 1) {
        if (threadIdx.x < s) running[threadIdx.x] += running[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = running[0] * row[0];
}

torch::Tensor weighted(torch::Tensor x) {
    auto out = torch::empty({x.size(0)}, x.options());
    first_times_sum<<<x.size(0), 128>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
    return out;
}
"""

cpp_source = """
#include <torch/extension.h>
torch::Tensor weighted(torch::Tensor x);
"""

first = load_inline(
    name="first_c",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions={"weighted": "weighted (CUDA)"},
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()
        self.first = first

    def forward(self, x):
        return self.first.weighted(x)
