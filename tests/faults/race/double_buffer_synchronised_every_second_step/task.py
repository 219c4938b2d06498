import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, w):
        return (x.view(16, 128).t() * w).sum(1)


def get_inputs():
    return [torch.randn(2048), torch.randn(16)]


def get_init_inputs():
    return []
