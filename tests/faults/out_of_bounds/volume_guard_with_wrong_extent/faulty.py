import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void flip_depth(const int64_t* in, int64_t* out, int depth, int height, int width) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < width && y < width && z < depth) {
        int64_t value = in[(z * height + y) * width + x];
        out[((depth - 1 - z) * height + y) * width + x] = value;
    }
}

torch::Tensor flip(torch::Tensor v) {
    auto out = torch::empty_like(v);
    int D = v.size(0), H = v.size(1), W = v.size(2);
    dim3 threads(8, 8, 4);
    dim3 blocks((W + 7) / 8, (H + 7) / 8, (D + 3) / 4);
    flip_depth<<<blocks, threads>>>(v.data_ptr<int64_t>(), out.data_ptr<int64_t>(), D, H, W);
    return out;
}
"""

cpp_source = """
#include <torch/extension.h>
torch::Tensor flip(torch::Tensor v);
"""

flip = load_inline(
    name="flip_c",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions={"flip": "flip (CUDA)"},
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()
        self.flip = flip

    def forward(self, v):
        return self.flip.flip(v)
