import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void row_sum(const float* x, float* out, int cols) {
    __shared__ float slots[128];
    const int t = threadIdx.x;
    slots[t] = t < cols ? x[blockIdx.x * cols + t] : 0.0f;
    __syncthreads();
    if (t == 0) {
        float sum = 0.0f;
        for (int i = 0; i < 128; ++i) sum += slots[i];
        out[blockIdx.x] = sum;
    }
}

torch::Tensor sum_rows(torch::Tensor x) {
    auto out = torch::empty({x.size(0)}, x.options());
    row_sum<<<x.size(0), 128>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
    return out;
}
"""

cpp_source = """
#include <torch/extension.h>
torch::Tensor sum_rows(torch::Tensor x);
"""

sum_op = load_inline(
    name="sum_op_c",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions={"sum_rows": "sum_rows (CUDA)"},
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()
        self.sum_op = sum_op

    def forward(self, x):
        return self.sum_op.sum_rows(x)
