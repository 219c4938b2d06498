import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void flip_rows(const float* x, float* y, int cols) {
    extern __shared__ float row[];
    for (int c = threadIdx.x; c < cols; c += blockDim.x) row[c] = x[blockIdx.x * cols + c];
    __syncthreads();
    for (int c = threadIdx.x; c < cols; c += blockDim.x) y[blockIdx.x * cols + c] = row[cols - 1 - c];
}

torch::Tensor flipped(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int cols = x.size(1);
    const int bytes = cols * sizeof(float);
    cudaFuncSetAttribute(flip_rows, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    flip_rows<<<x.size(0), 256, bytes>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols);
    return y;
}
"""

cpp_source = """
#include <torch/extension.h>
torch::Tensor flipped(torch::Tensor x);
"""

flipped = load_inline(
    name="flipped_c",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions={"flipped": "flipped (CUDA)"},
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()
        self.flipped = flipped

    def forward(self, x):
        return self.flipped.flipped(x)
