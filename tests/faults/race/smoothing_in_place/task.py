import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return 0.5 * (x + torch.roll(x, -1))


def get_inputs():
    return [torch.randn(1000)]


def get_init_inputs():
    return []
