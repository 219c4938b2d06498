import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void vertical_blur(const float* img, float* out, int height, int width) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int above = y == 0 ? 0 : y - 1;
    int below = y + 1;
    float centre = img[y * width + x];
    float sum = 0.25f * img[above * width + x] + 0.5f * centre;
    sum += 0.25f * img[below * width + x];
    out[y * width + x] = sum;
}

torch::Tensor blur(torch::Tensor img) {
    auto out = torch::empty_like(img);
    dim3 block(16, 16);
    dim3 grid((img.size(1) + 15) / 16, (img.size(0) + 15) / 16);
    vertical_blur<<<grid, block>>>(img.data_ptr<float>(), out.data_ptr<float>(), img.size(0), img.size(1));
    return out;
}
"""

blur = load_inline(
    name="blur_ext",
    cpp_sources="torch::Tensor blur(torch::Tensor img);",
    cuda_sources=cuda_source,
    functions=["blur"],
)


class ModelNew(nn.Module):
    def forward(self, img):
        return blur.blur(img)
