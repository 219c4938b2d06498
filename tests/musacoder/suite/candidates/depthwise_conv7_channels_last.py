import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

// The channel is the fastest index of images and of threads; weights are read across their own layout.
__global__ void depthwise_kernel(const float* x, const float* weight, const float* bias, float* y,
                                 int channels, int height, int width, int total) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    const int c = i % channels, column = i / channels % width, row = i / (channels * width) % height;
    const int image = i / (channels * width * height);
    float sum = bias[c];
    for (int dy = 0; dy < 7; ++dy) {
        const int r = row + dy - 3;
        if (r < 0 || r >= height) continue;
        for (int dx = 0; dx < 7; ++dx) {
            const int q = column + dx - 3;
            if (q < 0 || q >= width) continue;
            sum += x[((image * height + r) * width + q) * channels + c] * weight[c * 49 + dy * 7 + dx];
        }
    }
    y[i] = sum;
}

torch::Tensor depthwise(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
    auto packed = x.contiguous(at::MemoryFormat::ChannelsLast);
    auto y = torch::empty_like(packed);
    const int total = y.numel();
    depthwise_kernel<<<(total + 127) / 128, 128>>>(
        packed.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(),
        x.size(1), x.size(2), x.size(3), total);
    return y;
}
"""

ext = load_inline(
    name="depthwise_ext",
    cpp_sources="torch::Tensor depthwise(torch::Tensor x, torch::Tensor weight, torch::Tensor bias);",
    cuda_sources=source,
    functions=["depthwise"],
)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)

    def forward(self, x):
        return ext.depthwise(x, self.conv.weight, self.conv.bias)
