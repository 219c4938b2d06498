import torch
import torch.nn as nn


class Model(nn.Module):
    """Products of every pair of channels over an image's pixels, per image.

    The style term of neural style transfer: tall operands, a small symmetric result.
    """

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        flat = features.flatten(2)
        return torch.bmm(flat, flat.transpose(1, 2)) / flat.shape[-1]


batch = 24
channels = 320
height = 63
width = 63


def get_inputs():
    return [torch.randn(batch, channels, height, width)]


def get_init_inputs():
    return []
