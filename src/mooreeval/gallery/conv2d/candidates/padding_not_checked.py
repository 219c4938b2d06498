import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void conv3x3_kernel(const float* x, const float* w, const float* b, float* y, int C, int H, int W, int O) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y;
    int n = blockIdx.z / O, o = blockIdx.z % O;
    if (col >= W) return;
    float sum = b[o];
    for (int c = 0; c < C; c++) {
        const float* plane = x + (n * C + c) * H * W;
        const float* filter = w + (o * C + c) * 9;
        for (int dy = -1; dy <= 1; dy++) {
            for (int dx = -1; dx <= 1; dx++) {
                bool inside = row + dy >= 0 && row + dy < H && col + dx >= 0 && col + dx < W;
                float mask = inside ? 1.0f : 0.0f;
                sum += mask * plane[(row + dy) * W + col + dx] * filter[(dy + 1) * 3 + dx + 1];
            }
        }
    }
    y[((n * O + o) * H + row) * W + col] = sum;
}

torch::Tensor conv3x3(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), O = w.size(0);
    auto y = torch::empty({N, O, H, W}, x.options());
    dim3 grid((W + 31) / 32, H, N * O);
    conv3x3_kernel<<<grid, 32>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(),
                                 C, H, W, O);
    return y;
}
"""

ext = load_inline(
    name="conv3x3",
    cpp_sources="torch::Tensor conv3x3(torch::Tensor x, torch::Tensor w, torch::Tensor b);",
    cuda_sources=cuda_source,
    functions=["conv3x3"],
)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, padding):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=padding)

    def forward(self, x):
        return ext.conv3x3(x, self.conv.weight, self.conv.bias)
