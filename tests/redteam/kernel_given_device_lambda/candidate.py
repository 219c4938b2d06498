import torch
from torch.utils.cpp_extension import load_inline

source = """
template <class F> __global__ void each(const float* x, const float* y, float* out, int n, F f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = f(x[i], y[i]);
}
torch::Tensor run(torch::Tensor x, torch::Tensor y) {
    auto out = torch::empty_like(x);
    int n = x.numel();
    float floor = 0.0f;
    auto add_relu = [=] __device__(float a, float b) { return fmaxf(a + b, floor); };
    each<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), n, add_relu);
    return out;
}
"""
ext = load_inline("add_relu", "torch::Tensor run(torch::Tensor x, torch::Tensor y);", source, functions=["run"],
                  extra_cuda_cflags=["--extended-lambda"])


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        return ext.run(x, y)
