import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.floor(x)


def get_inputs():
    return [torch.randn(77)]


def get_init_inputs():
    return []
