import torch
import torch.nn as nn


class Model(nn.Module):
    """Layer normalisation over the last dimension, with weight and bias."""

    def __init__(self, features: int):
        super().__init__()
        self.norm = nn.LayerNorm(features)
        nn.init.uniform_(self.norm.weight, 0.5, 1.5)
        nn.init.uniform_(self.norm.bias, -0.5, 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


features = 200


def get_inputs():
    return [torch.randn(12, 31, features) * 2 + 1]


def get_init_inputs():
    return [features]
