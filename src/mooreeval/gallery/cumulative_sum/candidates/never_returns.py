import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

scan_source = """
#include <torch/extension.h>

__global__ void scan_rows(const float* in, float* out, int rows, int n) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) {
        sum += in[r * n + i];
        out[r * n + i] = sum;
    }
}

torch::Tensor cumsum_rows(torch::Tensor x) {
    auto out = torch::empty_like(x);
    scan_rows<<<(x.size(0) + 31) / 32, 32>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(0), x.size(1));
    return out;
}
"""

scan = load_inline(
    name="scan_serial_ext",
    cpp_sources="torch::Tensor cumsum_rows(torch::Tensor x);",
    cuda_sources=scan_source,
    functions=["cumsum_rows"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.ready = False

    def forward(self, x):
        out = scan.cumsum_rows(x)
        while not self.ready:
            if out.dim() == 0:
                self.ready = True
        return out
