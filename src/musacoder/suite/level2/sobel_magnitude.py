import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """The strength of edges: a 5-tap blur both ways, two 3 x 3 differences, and the length of that gradient.

    First stage of Canny and of optical flow. Borders are mirrored once, before the blur.
    """

    def __init__(self):
        super().__init__()
        blur = torch.tensor([1.0, 4.0, 6.0, 4.0, 1.0]) / 16
        across = torch.tensor([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]])
        self.register_buffer("blur", torch.outer(blur, blur)[None, None])
        self.register_buffer("differences", torch.stack([across, across.t()])[:, None])

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        smooth = F.conv2d(F.pad(image, (3, 3, 3, 3), mode="reflect"), self.blur)
        slope = F.conv2d(smooth, self.differences)
        return slope.square().sum(dim=1).add(1e-6).sqrt()


batch = 12
height = 481
width = 640


def get_inputs():
    return [torch.randn(batch, 1, height, width)]


def get_init_inputs():
    return []
