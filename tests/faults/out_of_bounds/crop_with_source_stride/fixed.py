import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void crop_columns(const float* __restrict__ src, float* __restrict__ dst, int src_cols, int dst_cols, int first) {
    const int row = blockIdx.x;
    for (int c = threadIdx.x; c < dst_cols; c += blockDim.x) {
        dst[row * dst_cols + c] = src[row * src_cols + first + c];
    }
}

torch::Tensor crop(torch::Tensor x, int64_t first, int64_t count) {
    auto out = torch::empty({x.size(0), count}, x.options());
    crop_columns<<<x.size(0), 32>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1), count, first);
    return out;
}
"""

cpp_source = """
#include <torch/extension.h>
torch::Tensor crop(torch::Tensor x, int64_t first, int64_t count);
"""

crop = load_inline(
    name="crop_c",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions={"crop": "crop (CUDA)"},
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()
        self.crop = crop

    def forward(self, x):
        return self.crop.crop(x, 13, 64)
