import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.cat([torch.ones_like(x[:1]), torch.cumprod(x.sigmoid(), 0)])


def get_inputs():
    return [torch.randn(64)]


def get_init_inputs():
    return []
