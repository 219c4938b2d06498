import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, labels):
        return (
            torch.zeros(10, dtype=torch.int64, device=labels.device)
            .scatter_add(0, labels.long(), torch.ones_like(labels, dtype=torch.int64))
            .to(torch.int32)
        )


def get_inputs():
    return [torch.randint(0, 10, (3000,), dtype=torch.int32)]


def get_init_inputs():
    return []
