import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, img):
        up = torch.cat([img[:1], img[:-1]])
        down = torch.cat([img[1:], img[-1:]])
        return 0.25 * up + 0.5 * img + 0.25 * down


def get_inputs():
    return [torch.rand(37, 45)]


def get_init_inputs():
    return []
