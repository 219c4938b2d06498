import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void pool_kernel(const float* x, float* y, int H, int W, int OH, int OW, int k, int s, int p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int ow = i % OW, oh = (i / OW) % OH, plane = i / (OW * OH);
    float best = -INFINITY;
    for (int a = 0; a < k; ++a) {
        for (int b = 0; b < k; ++b) {
            int h = oh * stride - p + a;
            int w = ow * s - p + b;
            if (h >= 0 && h < H && w >= 0 && w < W) best = fmaxf(best, x[(plane * H + h) * W + w]);
        }
    }
    y[i] = best;
}

torch::Tensor pool(torch::Tensor x, int k, int s, int p) {
    int H = x.size(2), W = x.size(3);
    int OH = (H + 2 * p - k) / s + 1, OW = (W + 2 * p - k) / s + 1;
    auto y = torch::empty({x.size(0), x.size(1), OH, OW}, x.options());
    int n = y.numel();
    pool_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), H, W, OH, OW, k, s, p, n);
    return y;
}
"""

ext = load_inline(
    name="pool_flat",
    cpp_sources="torch::Tensor pool(torch::Tensor x, int k, int s, int p);",
    cuda_sources=source,
    functions=["pool"],
)


class ModelNew(nn.Module):
    def __init__(self, kernel_size, stride, padding):
        super().__init__()
        self.k, self.s, self.p = kernel_size, stride, padding

    def forward(self, x):
        return ext.pool(x, self.k, self.s, self.p)
