import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """A depthwise convolution along time that looks back only: four taps, no padding on the right.

    The short convolution before the scan of Mamba and other state-space models.
    """

    def __init__(self, channels: int, taps: int):
        super().__init__()
        self.taps = taps
        self.weight = nn.Parameter(torch.randn(channels, 1, taps) * 0.5)
        self.bias = nn.Parameter(torch.randn(channels) * 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        padded = F.pad(x, (self.taps - 1, 0))
        return F.conv1d(padded, self.weight, self.bias, groups=x.shape[1])


batch = 8
channels = 1536
length = 2047


def get_inputs():
    return [torch.randn(batch, channels, length)]


def get_init_inputs():
    return [channels, 4]
