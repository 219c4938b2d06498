import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void returns_kernel(const float* rewards, const bool* done, float* returns, int steps, int count,
                               float discount) {
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= count) return;
    float carry = 0.0f;
    for (int t = steps - 1; t >= 0; --t) {
        carry = rewards[t * count + e] + (done[t * count + e] ? 0.0f : discount * carry);
        returns[t * count + e] = carry;
    }
}

torch::Tensor discounted(torch::Tensor rewards, torch::Tensor done, double discount) {
    auto returns = torch::empty_like(rewards);
    const int steps = rewards.size(0), count = rewards.size(1);
    returns_kernel<<<(count + 63) / 64, 64>>>(
        rewards.data_ptr<float>(), done.data_ptr<bool>(), returns.data_ptr<float>(), steps, count, (float)discount);
    return returns;
}
"""

ext = load_inline(
    name="returns_ext",
    cpp_sources="torch::Tensor discounted(torch::Tensor rewards, torch::Tensor done, double discount);",
    cuda_sources=source,
    functions=["discounted"],
)


class ModelNew(nn.Module):
    def __init__(self, discount):
        super().__init__()
        self.discount = discount

    def forward(self, rewards, done):
        return ext.discounted(rewards, done, self.discount)
