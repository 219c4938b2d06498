import torch
import torch.nn as nn


class Model(nn.Module):
    """Quantises blocks of 32 neighbours to int8 under one power of two, and gives that exponent too.

    Microscaling as in MX formats: the scale is the smallest power of two with which no value passes 127.
    """

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        blocks = x.reshape(x.shape[0], -1, 32)
        largest = blocks.abs().amax(dim=-1, keepdim=True)
        _, exponent = torch.frexp(largest)
        exponent = exponent - 7
        exponent = torch.where(torch.ldexp(largest, -exponent) > 127, exponent + 1, exponent)
        quantised = torch.round(torch.ldexp(blocks, -exponent)).to(torch.int8)
        return quantised.reshape(x.shape), exponent.squeeze(-1)


rows = 4100
blocks = 96


def get_inputs():
    row_scale = torch.exp(torch.randn(rows, 1) * 2)
    return [torch.randn(rows, blocks * 32) * row_scale]


def get_init_inputs():
    return []
