import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, A, B):
        return torch.matmul(A, B)


def get_inputs():
    return [torch.randn(256, 128), torch.randn(128, 192)]


def get_init_inputs():
    return []
