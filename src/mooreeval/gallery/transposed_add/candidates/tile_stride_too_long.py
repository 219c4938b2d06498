import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

#define T 16

__global__ void transposed_add_kernel(const float* a, const float* b, float* out, int rows, int cols) {
    __shared__ float tile[T * T];
    int bx = blockIdx.x * T, by = blockIdx.y * T;
    int tx = threadIdx.x, ty = threadIdx.y;
    tile[ty * T + tx] = 0.0f;
    if (bx + ty < cols && by + tx < rows) {
        tile[ty * T + tx] = b[(bx + ty) * rows + by + tx];
    }
    __syncthreads();
    if (by + ty < rows && bx + tx < cols) {
        out[(by + ty) * cols + bx + tx] = a[(by + ty) * cols + bx + tx] + tile[tx * (T + 1) + ty];
    }
}

torch::Tensor transposed_add(torch::Tensor a, torch::Tensor b) {
    auto out = torch::empty_like(a);
    int rows = a.size(0), cols = a.size(1);
    dim3 grid((cols + T - 1) / T, (rows + T - 1) / T);
    dim3 block(T, T);
    transposed_add_kernel<<<grid, block>>>(a.data_ptr<float>(), b.data_ptr<float>(), out.data_ptr<float>(), rows, cols);
    return out;
}
"""

ext = load_inline(
    name="transposed_add_tile",
    cpp_sources="torch::Tensor transposed_add(torch::Tensor a, torch::Tensor b);",
    cuda_sources=source,
    functions=["transposed_add"],
)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return ext.transposed_add(a, b)
