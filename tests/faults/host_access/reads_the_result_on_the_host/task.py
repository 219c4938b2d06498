import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x / x.abs().max()


def get_inputs():
    return [torch.randn(800)]


def get_init_inputs():
    return []
