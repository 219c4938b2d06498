import torch
import torch.nn as nn


class Model(nn.Module):
    """Where each kept element goes when the others are thrown away: an exclusive prefix sum of flags.

    The first half of stream compaction (particles that live, pixels that hit). Dropped elements get -1.
    """

    def forward(self, keep: torch.Tensor) -> torch.Tensor:
        before = torch.cumsum(keep, dim=-1, dtype=torch.int32) - keep.to(torch.int32)
        return torch.where(keep, before, -1)


streams = 24
elements = 250007


def get_inputs():
    return [torch.rand(streams, elements) < 0.4]


def get_init_inputs():
    return []
