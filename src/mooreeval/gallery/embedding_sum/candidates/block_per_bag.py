import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

template <typename scalar_t, typename index_t>
__global__ void embedding_sum_kernel(const scalar_t* __restrict__ table, const index_t* __restrict__ bags,
                                     scalar_t* __restrict__ out, int per_bag, int width) {
    extern __shared__ unsigned char raw[];
    index_t* rows = reinterpret_cast<index_t*>(raw);
    for (int i = threadIdx.x; i < per_bag; i += blockDim.x) rows[i] = bags[blockIdx.x * per_bag + i];
    __syncthreads();
    for (int c = threadIdx.x; c < width; c += blockDim.x) {
        scalar_t sum = 0;
        for (int i = 0; i < per_bag; ++i) sum += table[rows[i] * width + c];
        out[blockIdx.x * width + c] = sum;
    }
}

torch::Tensor embedding_sum(torch::Tensor table, torch::Tensor bags) {
    auto out = torch::empty({bags.size(0), table.size(1)}, table.options());
    const int per_bag = bags.size(1), width = table.size(1);
    AT_DISPATCH_FLOATING_TYPES(table.scalar_type(), "embedding_sum", [&] {
        embedding_sum_kernel<scalar_t, int64_t>
            <<<bags.size(0), 64, per_bag * sizeof(int64_t), at::cuda::getCurrentCUDAStream()>>>(
                table.data_ptr<scalar_t>(), bags.data_ptr<int64_t>(), out.data_ptr<scalar_t>(), per_bag, width);
    });
    AT_CUDA_CHECK(cudaGetLastError());
    return out;
}
"""

ext = load_inline(
    name="embedding_sum_ext",
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
