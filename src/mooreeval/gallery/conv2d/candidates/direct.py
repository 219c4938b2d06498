import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void conv2d_kernel(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ bias,
                              float* __restrict__ y, int C, int H, int W, int O, int K, int P, int OH, int OW) {
    int ow = blockIdx.x * blockDim.x + threadIdx.x;
    int oh = blockIdx.y * blockDim.y + threadIdx.y;
    int o = blockIdx.z % O;
    int n = blockIdx.z / O;
    if (ow >= OW || oh >= OH) return;
    float acc = bias[o];
    for (int c = 0; c < C; ++c) {
        for (int kh = 0; kh < K; ++kh) {
            int h = oh + kh - P;
            if (h < 0 || h >= H) continue;
            for (int kw = 0; kw < K; ++kw) {
                int col = ow + kw - P;
                if (col < 0 || col >= W) continue;
                acc += x[((n * C + c) * H + h) * W + col] * w[((o * C + c) * K + kh) * K + kw];
            }
        }
    }
    y[((n * O + o) * OH + oh) * OW + ow] = acc;
}

torch::Tensor conv2d(torch::Tensor x, torch::Tensor w, torch::Tensor bias, int64_t padding) {
    int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), O = w.size(0), K = w.size(2);
    int OH = H + 2 * padding - K + 1, OW = W + 2 * padding - K + 1;
    auto y = torch::empty({N, O, OH, OW}, x.options());
    dim3 block(16, 8);
    dim3 grid((OW + 15) / 16, (OH + 7) / 8, N * O);
    conv2d_kernel<<<grid, block>>>(x.data_ptr<float>(), w.data_ptr<float>(), bias.data_ptr<float>(),
                                   y.data_ptr<float>(), C, H, W, O, K, padding, OH, OW);
    return y;
}
"""

conv_ext = load_inline(
    name="conv2d_direct",
    cpp_sources="torch::Tensor conv2d(torch::Tensor x, torch::Tensor w, torch::Tensor bias, int64_t padding);",
    cuda_sources=cuda_source,
    functions=["conv2d"],
)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, padding):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=padding)
        self.padding = padding

    def forward(self, x):
        return conv_ext.conv2d(x, self.conv.weight, self.conv.bias, self.padding)
