import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """A ConvNeXt block: 7 x 7 depthwise convolution, normalisation of channels, two products with GELU, layer scale.

    Images come channels first, the products want channels last, and the residual is added in the first layout.
    """

    def __init__(self, channels: int, ratio: int):
        super().__init__()
        self.mix = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels, eps=1e-6)
        nn.init.uniform_(self.norm.weight, 0.5, 1.5)
        nn.init.uniform_(self.norm.bias, -0.5, 0.5)
        self.widen = nn.Linear(channels, ratio * channels)
        self.narrow = nn.Linear(ratio * channels, channels)
        self.scale = nn.Parameter(torch.empty(channels).uniform_(1.0, 2.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pixels = self.norm(self.mix(x).permute(0, 2, 3, 1))
        answer = self.narrow(F.gelu(self.widen(pixels))) * self.scale
        return x + answer.permute(0, 3, 1, 2)


batch = 32
channels = 96
height = 55
width = 56


def get_inputs():
    return [torch.randn(batch, channels, height, width)]


def get_init_inputs():
    return [channels, 4]
