import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.max()


def get_inputs():
    return [torch.randint(0, 100000, (4096,), dtype=torch.int32)]


def get_init_inputs():
    return []
