import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, img):
        return 255 - img


def get_inputs():
    return [torch.randint(0, 256, (40, 50), dtype=torch.uint8)]


def get_init_inputs():
    return []
