import torch
import torch.nn as nn


class Model(nn.Module):
    """Layer normalisation over the channels of each pixel, where pixels and not channels are contiguous.

    LayerNorm2d of ConvNeXt and SAM: the normalised dimension has the largest stride but one.
    """

    def __init__(self, channels: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(channels).uniform_(0.5, 1.5))
        self.bias = nn.Parameter(torch.empty(channels).uniform_(-0.5, 0.5))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mean = x.mean(dim=1, keepdim=True)
        variance = (x - mean).square().mean(dim=1, keepdim=True)
        normal = (x - mean) / torch.sqrt(variance + self.eps)
        return normal * self.weight[:, None, None] + self.bias[:, None, None]


batch = 16
channels = 152
height = 48
width = 49


def get_inputs():
    return [torch.randn(batch, channels, height, width) + 0.5]


def get_init_inputs():
    return [channels, 1e-6]
