import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.where(x == x.amax(dim=1, keepdim=True), torch.arange(60, device=x.device), 60).amin(dim=1)


def get_inputs():
    return [torch.randint(0, 4, (25, 60), dtype=torch.int32)]


def get_init_inputs():
    return []
