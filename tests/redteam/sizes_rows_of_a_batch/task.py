import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, w):
        return x @ w


batch_size = 2048
N = 2048
K = 1024


def get_inputs():
    return [torch.rand(batch_size, K), torch.rand(K, N)]


def get_init_inputs():
    return []
