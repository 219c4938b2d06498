import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

#define WIDTH 128

__global__ void weighted_columns(const float* x, const float* w, float* y, int rows) {
    __shared__ float buffer[2][WIDTH];
    const int t = threadIdx.x;
    const int partner = WIDTH - 1 - t;
    float acc = 0.0f;
    buffer[0][t] = x[t];
    __syncthreads();
    for (int r = 0; r < rows; ++r) {
        if (r + 1 < rows) buffer[(r + 1) % 2][t] = x[(r + 1) * WIDTH + t];
        acc += w[r] * buffer[r % 2][partner];
        __syncthreads();
    }
    y[partner] = acc;
}

torch::Tensor weighted(torch::Tensor x, torch::Tensor w) {
    auto y = torch::empty({WIDTH}, x.options());
    weighted_columns<<<1, WIDTH>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), w.numel());
    return y;
}
"""

cpp_source = """
#include <torch/extension.h>
torch::Tensor weighted(torch::Tensor x, torch::Tensor w);
"""

weighted = load_inline(
    name="weighted_c",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions={"weighted": "weighted (CUDA)"},
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()
        self.weighted = weighted

    def forward(self, x, w):
        return self.weighted.weighted(x, w)
