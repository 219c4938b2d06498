import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(32, 16), torch.randn(16, 32)]


def get_init_inputs():
    return []
