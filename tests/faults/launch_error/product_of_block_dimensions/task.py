import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, v):
        return v.neg()


def get_inputs():
    return [torch.randn(4, 40, 50)]


def get_init_inputs():
    return []
