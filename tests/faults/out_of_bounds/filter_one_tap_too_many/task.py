import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x, w):
        return F.conv1d(x, w.unsqueeze(1), padding=3, groups=5)


def get_inputs():
    return [torch.randn(2, 5, 64), torch.randn(5, 7)]


def get_init_inputs():
    return []
