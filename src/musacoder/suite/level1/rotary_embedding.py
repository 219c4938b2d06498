import torch
import torch.nn as nn


class Model(nn.Module):
    """Turns pairs of query features by angles that grow with the token's position.

    Rotary position embedding, halves paired as in Llama. Tokens of packed sequences bring their own positions.
    """

    def __init__(self, head_width: int, base: float):
        super().__init__()
        steps = torch.arange(0, head_width, 2, dtype=torch.float32) / head_width
        self.register_buffer("frequencies", base**-steps)

    def forward(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        angles = positions[:, :, None].to(x.dtype) * self.frequencies.to(x.dtype)
        cos, sin = angles.cos()[:, :, None], angles.sin()[:, :, None]
        first, second = x.chunk(2, dim=-1)
        return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


batch = 4
tokens = 900
heads = 24
head_width = 96


def get_inputs():
    return [torch.randn(batch, tokens, heads, head_width), torch.randint(0, 500, (batch, tokens))]


def get_init_inputs():
    return [head_width, 10000.0]
