import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <vector>

constexpr int MOST = 16;

// A thread for each token keeps its best so far in registers, best first.
__global__ void gate_kernel(const float* logits, float* weights, int64_t* chosen, int tokens, int experts, int k) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= tokens) return;
    float best[MOST];
    int who[MOST];
    int held = 0;
    for (int e = 0; e < experts; ++e) {
        const float value = logits[t * experts + e];
        if (held == k && value <= best[k - 1]) continue;
        int at = held < k ? held++ : k - 1;
        for (; at > 0 && best[at - 1] < value; --at) {
            best[at] = best[at - 1];
            who[at] = who[at - 1];
        }
        best[at] = value;
        who[at] = e;
    }
    float total = 0.0f;
    for (int i = 0; i < k; ++i) total += expf(best[i] - best[0]);
    for (int i = 0; i < k; ++i) {
        weights[t * k + i] = expf(best[i] - best[0]) / total;
        chosen[t * k + i] = who[i];
    }
}

std::vector<torch::Tensor> gate(torch::Tensor logits, int64_t k) {
    TORCH_CHECK(k <= MOST, "at most ", MOST, " experts a token");
    const int tokens = logits.size(0), experts = logits.size(1);
    auto weights = torch::empty({tokens, k}, logits.options());
    auto chosen = torch::empty({tokens, k}, logits.options().dtype(torch::kLong));
    gate_kernel<<<(tokens + 127) / 128, 128>>>(
        logits.data_ptr<float>(), weights.data_ptr<float>(), chosen.data_ptr<int64_t>(), tokens, experts, k);
    return {weights, chosen};
}
"""

ext = load_inline(
    name="moe_gate_ext",
    cpp_sources="std::vector<torch::Tensor> gate(torch::Tensor logits, int64_t k);",
    cuda_sources=source,
    functions=["gate"],
)


class ModelNew(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k

    def forward(self, logits):
        weights, experts = ext.gate(logits, self.k)
        return weights, experts
