import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void count_labels(const int* labels, int* counts, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&counts[labels[i]], 1);
    }
}

torch::Tensor label_counts(torch::Tensor labels, int64_t classes) {
    auto counts = torch::zeros({classes}, labels.options());
    count_labels<<<4, 160>>>(labels.data_ptr<int>(), counts.data_ptr<int>(), labels.numel());
    return counts;
}
"""

cpp_source = """
#include <torch/extension.h>
torch::Tensor label_counts(torch::Tensor labels, int64_t classes);
"""

counts = load_inline(
    name="counts_c",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions={"label_counts": "label_counts (CUDA)"},
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()
        self.counts = counts

    def forward(self, labels):
        return self.counts.label_counts(labels, 10)
