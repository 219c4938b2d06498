import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void upsample_kernel(const float* x, float* y, int h, int w, int out_h, int out_w, int total) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    const int ox = i % out_w, oy = i / out_w % out_h, plane = i / (out_w * out_h);
    const float fy = fmaxf((oy + 0.5f) * ((float)h / out_h) - 0.5f, 0.0f);
    const float fx = fmaxf((ox + 0.5f) * ((float)w / out_w) - 0.5f, 0.0f);
    const int y0 = (int)fy, x0 = (int)fx;
    const int y1 = min(y0 + 1, h - 1), x1 = min(x0 + 1, w - 1);
    const float ty = fy - y0, tx = fx - x0;
    const float* p = x + plane * h * w;
    const float top = p[y0 * w + x0] * (1 - tx) + p[y0 * w + x1] * tx;
    const float bottom = p[y1 * w + x0] * (1 - tx) + p[y1 * w + x1] * tx;
    y[i] = top * (1 - ty) + bottom * ty;
}

torch::Tensor upsample(torch::Tensor x, int64_t out_h, int64_t out_w) {
    auto y = torch::empty({x.size(0), x.size(1), out_h, out_w}, x.options());
    const int total = y.numel();
    upsample_kernel<<<(total + 255) / 256, 256>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), x.size(2), x.size(3), out_h, out_w, total);
    return y;
}
"""

ext = load_inline(
    name="upsample_ext",
    cpp_sources="torch::Tensor upsample(torch::Tensor x, int64_t out_h, int64_t out_w);",
    cuda_sources=source,
    functions=["upsample"],
)


class ModelNew(nn.Module):
    def __init__(self, height, width):
        super().__init__()
        self.size = (height, width)

    def forward(self, x):
        return ext.upsample(x, *self.size)
