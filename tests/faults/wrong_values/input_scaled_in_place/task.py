import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, w):
        return x * w.abs()


def get_inputs():
    return [torch.randn(300), torch.randn(300)]


def get_init_inputs():
    return []
