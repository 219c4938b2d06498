import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """A strided 3 x 3 convolution, batch normalisation with stored statistics, and ReLU6.

    The stem of MobileNet in inference: the normalisation folds into the convolution's epilogue.
    """

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 3, stride=2, padding=1, bias=False)
        self.gain = nn.Parameter(torch.empty(outputs).uniform_(1.0, 3.0))
        self.shift = nn.Parameter(torch.empty(outputs).uniform_(0.0, 2.0))
        self.register_buffer("mean", torch.randn(outputs) * 0.2)
        self.register_buffer("variance", torch.empty(outputs).uniform_(0.2, 0.6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normal = F.batch_norm(self.conv(x), self.mean, self.variance, self.gain, self.shift, training=False, eps=1e-3)
        return F.relu6(normal)


batch = 32
channels = 3
height = 225
width = 161
filters = 40


def get_inputs():
    return [torch.randn(batch, channels, height, width)]


def get_init_inputs():
    return [channels, filters]
