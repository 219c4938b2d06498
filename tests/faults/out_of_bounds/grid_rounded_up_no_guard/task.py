import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x * x + 1


def get_inputs():
    return [torch.randint(-50, 50, (1000,), dtype=torch.int32)]


def get_init_inputs():
    return []
