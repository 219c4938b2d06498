import torch
import torch.nn as nn


class Model(nn.Module):
    """Normalises each head of queries and keys, then rotates both by their position; pairs are neighbours.

    Before attention in Qwen3-like models. There are fewer key heads than query heads, and each kind has its gain.
    """

    def __init__(self, head_width: int, eps: float):
        super().__init__()
        self.query_gain = nn.Parameter(torch.empty(head_width).uniform_(0.5, 1.5))
        self.key_gain = nn.Parameter(torch.empty(head_width).uniform_(0.5, 1.5))
        self.eps = eps

    def forward(self, query: torch.Tensor, key: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor):
        return self._turned(query, self.query_gain, cos, sin), self._turned(key, self.key_gain, cos, sin)

    def _turned(self, x: torch.Tensor, gain: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        normal = x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + self.eps) * gain
        even, odd = normal[..., 0::2], normal[..., 1::2]
        cos, sin = cos[:, None], sin[:, None]
        return torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1).flatten(-2)


batch = 2
tokens = 1100
query_heads = 16
key_heads = 4
half_width = 64


def get_inputs():
    query = torch.randn(batch, tokens, query_heads, 2 * half_width)
    key = torch.randn(batch, tokens, key_heads, 2 * half_width)
    angle = torch.rand(tokens, half_width) * 6.28
    return [query, key, angle.cos(), angle.sin()]


def get_init_inputs():
    return [2 * half_width, 1e-6]
