import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return torch.mm(a, b)


def get_inputs():
    return [torch.randn(32, 70), torch.randn(70, 32)]


def get_init_inputs():
    return []
