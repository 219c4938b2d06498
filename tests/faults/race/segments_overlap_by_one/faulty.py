import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

struct Segment {
    int first, last;
    __device__ Segment(int index, int width, int total) {
        first = index * width;
        last = min(first + width + 1, total);
    }
};

__global__ void fill_with_mean(const float* x, float* y, int segments, int width) {
    const int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= segments) return;
    float sum = 0.0f;
    for (int c = 0; c < width; ++c) sum += x[index * width + c];
    const Segment segment(index, width, segments * width);
    for (int i = segment.first; i < segment.last; ++i) {
        y[i] = sum / width;
    }
}

torch::Tensor means(torch::Tensor x) {
    auto y = torch::empty_like(x);
    fill_with_mean<<<(x.size(0) + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}
"""

means = load_inline(
    name="means_ext",
    cpp_sources="torch::Tensor means(torch::Tensor x);",
    cuda_sources=cuda_source,
    functions=["means"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return means.means(x)
