import torch
import torch.nn as nn


class Model(nn.Module):
    """A network of sets: each member through two layers, the members of a set added up, the sum through two more.

    Jets of particles, bags of measurements. Sets are padded, and padding must not count.
    """

    def __init__(self, features: int, hidden: int, outputs: int):
        super().__init__()
        self.member = nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.whole = nn.Sequential(nn.Linear(hidden, hidden), nn.ELU(), nn.Linear(hidden, outputs))

    def forward(self, members: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        there = torch.arange(members.shape[1], device=members.device) < counts[:, None]
        pooled = (self.member(members) * there[:, :, None]).sum(dim=1) / counts[:, None].sqrt()
        return self.whole(pooled)


sets = 6000
largest = 50
features = 7
hidden = 100
outputs = 5


def get_inputs():
    return [torch.randn(sets, largest, features) * 3, torch.randint(1, largest + 1, (sets,))]


def get_init_inputs():
    return [features, hidden, outputs]
