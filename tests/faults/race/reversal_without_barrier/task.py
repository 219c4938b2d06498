import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.flip(1)


def get_inputs():
    return [torch.randn(12, 128)]


def get_init_inputs():
    return []
