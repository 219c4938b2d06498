import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, v):
        return v.flip(0)


def get_inputs():
    return [torch.randint(0, 1000, (6, 10, 28))]


def get_init_inputs():
    return []
