import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x[:, 0:32:2] - x[:, 1:32:2]


def get_inputs():
    return [torch.randn(18, 33)]


def get_init_inputs():
    return []
