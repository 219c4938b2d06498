import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """A Mixer layer: two products along the patches, then two along the channels, both around a residual.

    MLP-Mixer. The first pair multiplies by columns of what the second multiplies by rows.
    """

    def __init__(self, patches: int, channels: int, patch_hidden: int, channel_hidden: int):
        super().__init__()
        self.gains = nn.Parameter(torch.empty(2, channels).uniform_(0.5, 1.5))
        self.across = nn.ModuleList([nn.Linear(patches, patch_hidden), nn.Linear(patch_hidden, patches)])
        self.within = nn.ModuleList([nn.Linear(channels, channel_hidden), nn.Linear(channel_hidden, channels)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, second = self.across
        by_patch = F.layer_norm(x, x.shape[-1:], self.gains[0]).transpose(1, 2)
        x = x + second(F.gelu(first(by_patch))).transpose(1, 2)
        first, second = self.within
        return x + second(F.gelu(first(F.layer_norm(x, x.shape[-1:], self.gains[1]))))


batch = 64
patches = 196
channels = 200
patch_hidden = 96
channel_hidden = 640


def get_inputs():
    return [torch.randn(batch, patches, channels)]


def get_init_inputs():
    return [patches, channels, patch_hidden, channel_hidden]
