import torch
import torch.nn as nn


class Model(nn.Module):
    """A 3 x 3 convolution with padding and bias."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, padding: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


def get_inputs():
    return [torch.randn(2, 3, 25, 27)]


def get_init_inputs():
    return [3, 8, 3, 1]
