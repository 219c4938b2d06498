import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """An inverted residual with squeeze-and-excitation: widen, 5 x 5 depthwise, weigh channels by their means, narrow.

    MobileNetV3 and EfficientNet in inference; normalisations are already folded into the convolutions.
    """

    def __init__(self, channels: int, wide: int, squeezed: int):
        super().__init__()
        self.widen = nn.Conv2d(channels, wide, 1)
        self.mix = nn.Conv2d(wide, wide, 5, padding=2, groups=wide)
        self.squeeze = nn.Conv2d(wide, squeezed, 1)
        self.excite = nn.Conv2d(squeezed, wide, 1)
        self.narrow = nn.Conv2d(wide, channels, 1)
        nn.init.normal_(self.narrow.weight, std=2 * wide**-0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = F.hardswish(self.mix(F.hardswish(self.widen(x))))
        means = hidden.mean(dim=(2, 3), keepdim=True)
        weight = F.hardsigmoid(self.excite(F.relu(self.squeeze(means))))
        return x + self.narrow(hidden * weight)


batch = 96
channels = 40
wide = 120
height = 28
width = 35


def get_inputs():
    return [torch.randn(batch, channels, height, width) * 2]


def get_init_inputs():
    return [channels, wide, 32]
