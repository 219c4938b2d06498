import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return (
            torch.zeros(16, dtype=torch.int64, device=x.device)
            .scatter_add(0, x.long(), torch.ones_like(x, dtype=torch.int64))
            .to(torch.int32)
        )


def get_inputs():
    return [torch.randint(0, 16, (1500,), dtype=torch.int32)]


def get_init_inputs():
    return []
