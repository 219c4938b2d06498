import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

#define BLOCK 64
#define RADIUS 2

__global__ void box_filter(const float* __restrict__ in, float* __restrict__ out, int n) {
    __shared__ float tile[BLOCK + 2 * RADIUS];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    const int t = threadIdx.x + RADIUS;
    tile[t] = in[i];
    if (threadIdx.x < RADIUS) {
        tile[threadIdx.x] = i >= RADIUS ? in[i - RADIUS] : 0.0f;
        tile[t + BLOCK] = i + BLOCK < n ? in[i + BLOCK] : 0.0f;
    }
    __syncthreads();
    float sum = 0.0f;
    for (int d = -RADIUS; d <= RADIUS; ++d) sum += tile[t + d];
    out[i] = sum / (2 * RADIUS + 1);
}

torch::Tensor box(torch::Tensor x) {
    auto y = torch::empty_like(x);
    box_filter<<<x.numel() / BLOCK, BLOCK>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""

cpp_source = """
#include <torch/extension.h>
torch::Tensor box(torch::Tensor x);
"""

box = load_inline(
    name="box_c",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions={"box": "box (CUDA)"},
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()
        self.box = box

    def forward(self, x):
        return self.box.box(x)
