import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp_source = """
#include <torch/extension.h>
#include <stdexcept>

void launch_transposed_add(const float* a, const float* b, float* out, int rows, int cols);

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    if (a.size(0) != b.size(1) || a.size(1) != b.size(0)) {
        throw std::invalid_argument("shapes do not match");
    }
    a = a.contiguous();
    b = b.contiguous();
    auto out = torch::empty({a.size(0), a.size(1)}, a.options());
    launch_transposed_add(a.data_ptr<float>(), b.data_ptr<float>(), out.data_ptr<float>(),
                          static_cast<int>(a.size(0)), static_cast<int>(a.size(1)));
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.doc() = "a + b.T";
    m.def("forward", &forward, py::arg("a"), py::arg("b"));
}
"""

cuda_source = """
#include <cuda_runtime.h>

__global__ void transposed_add(const float* a, const float* b, float* out, int rows, int cols) {
    const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < cols && y < rows) out[y * cols + x] = a[y * cols + x] + b[x * rows + y];
}

void launch_transposed_add(const float* a, const float* b, float* out, int rows, int cols) {
    dim3 threads(64, 4, 1);
    dim3 blocks((cols + threads.x - 1) / threads.x, (rows + threads.y - 1) / threads.y, 1);
    transposed_add<<<blocks, threads>>>(a, b, out, rows, cols);
}
"""

transposed = load_inline(
    name="transposed_add_bound",
    cpp_sources=[cpp_source],
    cuda_sources=[cuda_source],
    with_cuda=True,
)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return transposed.forward(a=a, b=b)
