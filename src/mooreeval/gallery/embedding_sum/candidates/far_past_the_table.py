import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void embedding_sum_kernel(const float* table, const int64_t* bags, float* out, int per_bag, int width) {
    const int row_bytes = width * sizeof(float);
    const int c = threadIdx.x;
    if (c >= width) return;
    float sum = 0.0f;
    for (int i = 0; i < per_bag; ++i) {
        sum += table[bags[blockIdx.x * per_bag + i] * row_bytes + c];
    }
    out[blockIdx.x * width + c] = sum;
}

torch::Tensor embedding_sum(torch::Tensor table, torch::Tensor bags) {
    auto out = torch::empty({bags.size(0), table.size(1)}, table.options());
    embedding_sum_kernel<<<bags.size(0), 64>>>(
        table.data_ptr<float>(), bags.data_ptr<int64_t>(), out.data_ptr<float>(), bags.size(1), table.size(1));
    return out;
}
"""

ext = load_inline(
    name="embedding_bytes",
    cpp_sources="torch::Tensor embedding_sum(torch::Tensor table, torch::Tensor bags);",
    cuda_sources=source,
    functions=["embedding_sum"],
)


class ModelNew(nn.Module):
    def __init__(self, entries, width):
        super().__init__()
        self.table = nn.Embedding(entries, width)

    def forward(self, bags):
        return ext.embedding_sum(self.table.weight, bags)
