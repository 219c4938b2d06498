import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__device__ int ordered(float value) {
    const int bits = __float_as_int(value);
    return bits >= 0 ? bits : bits ^ 0x7fffffff;
}

__device__ float from_ordered(int key) { return __int_as_float(key >= 0 ? key : key ^ 0x7fffffff); }

__global__ void score_kernel(const float* from, const float* to, const int64_t* edges, float* score, int* largest,
                             int count, int heads, float slope) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count * heads) return;
    const int e = i / heads, h = i % heads;
    const int64_t target = edges[count + e];
    float value = from[edges[e] * heads + h] + to[target * heads + h];
    value = value > 0.0f ? value : value * slope;
    score[i] = value;
    atomicMax(&largest[target * heads + h], ordered(value));
}

__global__ void exponential_kernel(float* score, const int* largest, float* total, const int64_t* edges, int count,
                                   int heads) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count * heads) return;
    const int64_t cell = edges[count + i / heads] * heads + i % heads;
    score[i] = expf(score[i] - from_ordered(largest[cell]));
    atomicAdd(&total[cell], score[i]);
}

__global__ void divide_kernel(float* score, const float* total, const int64_t* edges, int count, int heads) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count * heads) score[i] /= total[edges[count + i / heads] * heads + i % heads];
}

torch::Tensor edge_softmax(torch::Tensor from, torch::Tensor to, torch::Tensor edges, double slope) {
    const int count = edges.size(1), heads = from.size(1), blocks = (count * heads + 255) / 256;
    auto score = torch::empty({count, heads}, from.options());
    auto largest = torch::full(from.sizes(), INT_MIN, from.options().dtype(torch::kInt));
    auto total = torch::zeros(from.sizes(), from.options());
    const int64_t* list = edges.data_ptr<int64_t>();
    score_kernel<<<blocks, 256>>>(from.data_ptr<float>(), to.data_ptr<float>(), list, score.data_ptr<float>(),
                                  largest.data_ptr<int>(), count, heads, (float)slope);
    exponential_kernel<<<blocks, 256>>>(
        score.data_ptr<float>(), largest.data_ptr<int>(), total.data_ptr<float>(), list, count, heads);
    divide_kernel<<<blocks, 256>>>(score.data_ptr<float>(), total.data_ptr<float>(), list, count, heads);
    return score;
}
"""

ext = load_inline(
    name="edge_softmax_ext",
    cpp_sources="torch::Tensor edge_softmax(torch::Tensor from, torch::Tensor to, torch::Tensor edges, double slope);",
    cuda_sources=source,
    functions=["edge_softmax"],
)


class ModelNew(nn.Module):
    def __init__(self, nodes, slope):
        super().__init__()
        self.slope = slope

    def forward(self, source_score, target_score, edges):
        return ext.edge_softmax(source_score, target_score, edges, self.slope)
