import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cuda_fp16.h>

__global__ void gather_rows(const __half* table, const long long* rows, __half* out, int width) {
    const long long row = rows[blockIdx.x];
    for (int c = threadIdx.x; c < width; c += blockDim.x) {
        out[blockIdx.x * width + c] = table[row * width + c];
    }
}

torch::Tensor gather(torch::Tensor table, torch::Tensor rows) {
    auto out = torch::empty({rows.size(0), table.size(1)}, table.options());
    gather_rows<<<rows.size(0), 32>>>(reinterpret_cast<const __half*>(table.data_ptr<at::Half>()),
                                      reinterpret_cast<const long long*>(rows.data_ptr<int64_t>()),
                                      reinterpret_cast<__half*>(out.data_ptr<at::Half>()), table.size(1));
    return out;
}
"""

cpp_source = """
#include <torch/extension.h>
torch::Tensor gather(torch::Tensor table, torch::Tensor rows);
"""

gather = load_inline(
    name="gather_c",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions={"gather": "gather (CUDA)"},
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()
        self.gather = gather

    def forward(self, table, rows):
        return self.gather.gather(table, rows)
