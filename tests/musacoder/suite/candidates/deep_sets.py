import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

enum Activation { NONE, RELU, ELU };

__global__ void linear_kernel(const float* x, const float* w, const float* b, float* y, int rows, int inputs,
                              int outputs, int activation) {
    const int o = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (o >= outputs || row >= rows) return;
    float sum = b[o];
    for (int i = 0; i < inputs; ++i) sum = fmaf(x[row * inputs + i], w[o * inputs + i], sum);
    if (activation == RELU) sum = fmaxf(sum, 0.0f);
    if (activation == ELU) sum = sum > 0.0f ? sum : expm1f(sum);
    y[row * outputs + o] = sum;
}

__global__ void pool_kernel(const float* members, const int64_t* counts, float* pooled, int largest, int hidden) {
    const int64_t count = counts[blockIdx.x];
    for (int f = threadIdx.x; f < hidden; f += blockDim.x) {
        float sum = 0.0f;
        for (int64_t m = 0; m < count; ++m) sum += members[(blockIdx.x * largest + m) * hidden + f];
        pooled[blockIdx.x * hidden + f] = sum * rsqrtf((float)count);
    }
}

torch::Tensor linear(torch::Tensor x, torch::Tensor w, torch::Tensor b, int64_t activation) {
    const int rows = x.size(0), inputs = x.size(1), outputs = w.size(0);
    auto y = torch::empty({rows, outputs}, x.options());
    linear_kernel<<<dim3((outputs + 31) / 32, (rows + 3) / 4), dim3(32, 4)>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), rows, inputs, outputs,
        activation);
    return y;
}

torch::Tensor pool(torch::Tensor members, torch::Tensor counts) {
    const int sets = counts.size(0), hidden = members.size(1);
    auto pooled = torch::empty({sets, hidden}, members.options());
    pool_kernel<<<sets, 64>>>(members.data_ptr<float>(), counts.data_ptr<int64_t>(), pooled.data_ptr<float>(),
                              members.size(0) / sets, hidden);
    return pooled;
}
"""

ext = load_inline(
    name="deep_sets_ext",
    cpp_sources="torch::Tensor linear(torch::Tensor x, torch::Tensor w, torch::Tensor b, int64_t activation);"
    "torch::Tensor pool(torch::Tensor members, torch::Tensor counts);",
    cuda_sources=source,
    functions=["linear", "pool"],
)


class ModelNew(nn.Module):
    def __init__(self, features, hidden, outputs):
        super().__init__()
        self.member = nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.whole = nn.Sequential(nn.Linear(hidden, hidden), nn.ELU(), nn.Linear(hidden, outputs))

    def forward(self, members, counts):
        x = members.flatten(0, 1)
        x = ext.linear(x, self.member[0].weight, self.member[0].bias, 1)
        x = ext.linear(x, self.member[2].weight, self.member[2].bias, 1)
        x = ext.pool(x, counts)
        x = ext.linear(x, self.whole[0].weight, self.whole[0].bias, 2)
        return ext.linear(x, self.whole[2].weight, self.whole[2].bias, 0)
