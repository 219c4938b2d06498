import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        bins = (x * 32).long().clamp(max=31)
        return torch.zeros(32, device=x.device).scatter_add(0, bins, torch.ones_like(x))


def get_inputs():
    return [torch.cat([torch.rand(2000), torch.ones(3)])]


def get_init_inputs():
    return []
