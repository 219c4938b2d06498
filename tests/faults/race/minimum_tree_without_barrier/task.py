import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.min(dim=1).values


def get_inputs():
    return [torch.randn(10, 700, dtype=torch.float64)]


def get_init_inputs():
    return []
