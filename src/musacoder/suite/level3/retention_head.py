import torch
import torch.nn as nn


class Model(nn.Module):
    """Causal attention without a softmax: products decay with distance, each head at its rate, and are normalised.

    RetNet and lightning attention in their parallel form; a gate and a projection follow.
    """

    def __init__(self, heads: int, head_width: int):
        super().__init__()
        width = heads * head_width
        self.heads = heads
        self.project = nn.Parameter(torch.randn(width, 4 * width) * width**-0.5)
        self.out = nn.Parameter(torch.randn(width, width) * width**-0.5)
        self.register_buffer("rates", 1 - 2.0 ** (-2 - torch.arange(heads)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        query, key, value, gate = (x @ self.project).chunk(4, dim=-1)
        query, key, value = (y.reshape(batch, length, self.heads, -1).transpose(1, 2) for y in (query, key, value))
        place = torch.arange(length, device=x.device)
        distance = (place[:, None] - place).clamp(min=0)
        decay = (self.rates[:, None, None] ** distance).tril()
        seen = (query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5 * decay) @ value
        seen = seen * torch.rsqrt(seen.square().mean(dim=-1, keepdim=True) + 1e-5)
        return (seen.transpose(1, 2).reshape(batch, length, width) * torch.sigmoid(gate)) @ self.out


batch = 12
length = 390
heads = 4
head_width = 40


def get_inputs():
    return [torch.randn(batch, length, heads * head_width)]


def get_init_inputs():
    return [heads, head_width]
