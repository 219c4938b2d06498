import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.amax(1)


M = 8192
N = 4096


def get_inputs():
    return [torch.randn(M, N)]


def get_init_inputs():
    return []
