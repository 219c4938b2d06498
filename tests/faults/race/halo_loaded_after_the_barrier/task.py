import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        return F.avg_pool1d(F.pad(x.view(1, 1, -1), (2, 2)), 5, stride=1).view(-1)


def get_inputs():
    return [torch.randn(1024)]


def get_init_inputs():
    return []
