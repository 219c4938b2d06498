import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, m):
        return m.t().contiguous()


def get_inputs():
    return [torch.randn(48, 48)]


def get_init_inputs():
    return []
