import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Layer normalisation, causal self-attention of several heads, and the residual sum: half a GPT block.

    Products, a softmax and a normalisation in one module; a head is 40 wide.
    """

    def __init__(self, heads: int, head_width: int):
        super().__init__()
        width = heads * head_width
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        nn.init.uniform_(self.norm.weight, 0.5, 1.5)
        nn.init.uniform_(self.norm.bias, -0.5, 0.5)
        self.project = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        nn.init.normal_(self.project.weight, std=1.5 * width**-0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        packed = self.project(self.norm(x)).reshape(batch, length, 3, self.heads, -1)
        query, key, value = packed.permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
        later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        seen = F.softmax(scores.masked_fill(later, float("-inf")), dim=-1) @ value
        return x + self.out(seen.transpose(1, 2).reshape(batch, length, width))


batch = 12
length = 515
heads = 5
head_width = 40


def get_inputs():
    return [torch.randn(batch, length, heads * head_width)]


def get_init_inputs():
    return [heads, head_width]
