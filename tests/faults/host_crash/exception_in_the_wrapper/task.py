import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.amax(dim=0)


def get_inputs():
    return [torch.randn(3, 100)]


def get_init_inputs():
    return []
