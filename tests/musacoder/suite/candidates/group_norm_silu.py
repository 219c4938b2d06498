import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__device__ float block_sum(float value, float* partial) {
    for (int d = 16; d > 0; d /= 2) value += __shfl_down_sync(0xffffffff, value, d);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    float total = 0.0f;
    for (int w = 0; w < blockDim.x / 32; ++w) total += partial[w];
    __syncthreads();
    return total;
}

// A block for each group of an image: its channels lie in one stretch.
__global__ void group_norm_kernel(const float* x, const float* weight, const float* bias, float* y,
                                  int groups, int group_channels, int pixels, float eps) {
    __shared__ float partial[8];
    const int count = group_channels * pixels, first = blockIdx.x % groups * group_channels;
    const float* in = x + (int64_t)blockIdx.x * count;
    float* out = y + (int64_t)blockIdx.x * count;
    float sum = 0.0f, square = 0.0f;
    for (int i = threadIdx.x; i < count; i += blockDim.x) sum += in[i];
    const float mean = block_sum(sum, partial) / count;
    for (int i = threadIdx.x; i < count; i += blockDim.x) square += (in[i] - mean) * (in[i] - mean);
    const float scale = rsqrtf(block_sum(square, partial) / count + eps);
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        const int channel = first + i / pixels;
        const float normal = (in[i] - mean) * scale * weight[channel] + bias[channel];
        out[i] = normal / (1.0f + expf(-normal));
    }
}

torch::Tensor group_norm_silu(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t groups, double eps) {
    auto y = torch::empty_like(x);
    const int channels = x.size(1), pixels = x.size(2) * x.size(3);
    group_norm_kernel<<<x.size(0) * groups, 256>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(),
        groups, channels / groups, pixels, (float)eps);
    return y;
}
"""

ext = load_inline(
    name="group_norm_ext",
    cpp_sources="torch::Tensor group_norm_silu(torch::Tensor x, torch::Tensor w, torch::Tensor b, int64_t g, double);",
    cuda_sources=source,
    functions=["group_norm_silu"],
)


class ModelNew(nn.Module):
    def __init__(self, channels, groups):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x):
        return ext.group_norm_silu(x, self.norm.weight, self.norm.bias, self.norm.num_groups, self.norm.eps)
