import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Enlarges feature maps to a given size by bilinear interpolation, pixel centres aligned.

    The head of a segmentation network; the ratio is no whole number and differs by direction.
    """

    def __init__(self, height: int, width: int):
        super().__init__()
        self.size = (height, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.interpolate(x, size=self.size, mode="bilinear", align_corners=False)


batch = 8
channels = 19
height = 65
width = 129
wanted_height = 513
wanted_width = 1025


def get_inputs():
    return [torch.randn(batch, channels, height, width)]


def get_init_inputs():
    return [wanted_height, wanted_width]
