import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x[1:] * x[0]


def get_inputs():
    return [torch.randn(257)]


def get_init_inputs():
    return []
