import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return torch.cat([a, b], dim=1)


def get_inputs():
    return [torch.randn(50, 20), torch.randn(50, 12)]


def get_init_inputs():
    return []
