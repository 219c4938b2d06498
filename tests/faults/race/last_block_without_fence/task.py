import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.sum()


def get_inputs():
    return [torch.rand(4000)]


def get_init_inputs():
    return []
