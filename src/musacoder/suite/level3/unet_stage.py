import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """The lowest stage of a U-Net: convolve, halve by a maximum, convolve wider, double again, join the skip, convolve.

    Medical segmentation. Odd sizes make the doubled image smaller than the skip, which is then cut.
    """

    def __init__(self, channels: int):
        super().__init__()
        self.enter = nn.Conv2d(channels, channels, 3, padding=1)
        self.low = nn.Conv2d(channels, 2 * channels, 3, padding=1)
        self.up = nn.ConvTranspose2d(2 * channels, channels, 2, stride=2)
        self.leave = nn.Conv2d(2 * channels, channels, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skip = F.relu(self.enter(x))
        low = F.relu(self.low(F.max_pool2d(skip, 2)))
        up = self.up(low)
        skip = skip[:, :, : up.shape[2], : up.shape[3]]
        return F.relu(self.leave(torch.cat([skip, up], dim=1)))


batch = 16
channels = 32
height = 161
width = 131


def get_inputs():
    return [torch.randn(batch, channels, height, width) * 2]


def get_init_inputs():
    return [channels]
