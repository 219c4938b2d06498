import torch
from torch.utils.cpp_extension import load_inline

source = """
typedef void (*Kernel)(const float*, const float*, float*, int);
__host__ __device__ inline float relu(float v) { return v > 0 ? v : 0; }
constexpr int blocks(int n, int each) { return (n + each - 1) / each; }
static int threads_for(int n) { return n < 4096 ? 128 : 256; }
__global__ void one(const float* x, const float* y, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = relu(x[i] + y[i]);
}
__global__ void four(const float* x, const float* y, float* out, int n) {
    auto both = [](float a, float b) { return relu(a + b); };
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blocks(gridDim.x, 1) * blockDim.x) out[i] = both(x[i], y[i]);
}
torch::Tensor run(torch::Tensor x, torch::Tensor y) {
    auto out = torch::empty_like(x);
    int n = x.numel(), threads = threads_for(n);
    Kernel kernel = n % 4 ? one : four;
    cudaFuncAttributes attributes;
    cudaFuncGetAttributes(&attributes, (const void*)one);
    kernel<<<blocks(n, threads), threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), n);
    return out;
}
"""
ext = load_inline("add_relu", "torch::Tensor run(torch::Tensor x, torch::Tensor y);", source, functions=["run"])


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        return ext.run(x, y)
