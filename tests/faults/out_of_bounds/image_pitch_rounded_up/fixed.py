import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cstdint>

#define ALIGN_UP(value, to) (((value) + (to) - 1) / (to) * (to))

__global__ void invert(const uint8_t* src, uint8_t* dst, int width, int height, int pitch) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y;
    if (x < width) {
        const uint8_t pixel = src[y * width + x];
        dst[y * pitch + x] = 255 - pixel;
    }
}

torch::Tensor invert_image(torch::Tensor img) {
    TORCH_CHECK(img.scalar_type() == torch::kUInt8);
    auto out = torch::empty_like(img);
    const int height = img.size(0), width = img.size(1);
    const int pitch = ALIGN_UP(width, 1);
    invert<<<dim3((width + 31) / 32, height), 32>>>(img.data_ptr<uint8_t>(), out.data_ptr<uint8_t>(), width, height, pitch);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("invert_image", &invert_image);
}
"""

invert_module = load_inline(name="invert_module", cpp_sources="", cuda_sources=cuda_source)


class ModelNew(nn.Module):
    def forward(self, img):
        return invert_module.invert_image(img)
