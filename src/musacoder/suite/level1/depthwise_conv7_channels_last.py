import torch
import torch.nn as nn


class Model(nn.Module):
    """A 7 x 7 depthwise convolution of images whose channels lie next to each other in memory.

    Mixes space in ConvNeXt; every channel has a filter of its own, so there is no product of matrices in it.
    """

    def __init__(self, channels: int):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


batch = 16
channels = 192
height = 56
width = 50


def get_inputs():
    return [torch.randn(batch, channels, height, width).to(memory_format=torch.channels_last)]


def get_init_inputs():
    return [channels]
