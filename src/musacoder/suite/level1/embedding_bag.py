import torch
import torch.nn as nn


class Model(nn.Module):
    """Looks up and adds weighted rows of a table, one sum for each bag of indices.

    A recommender's categorical feature: bags of different lengths, told apart by offsets.
    """

    def __init__(self, entries: int, width: int):
        super().__init__()
        self.bag = nn.EmbeddingBag(entries, width, mode="sum")

    def forward(self, indices: torch.Tensor, offsets: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        return self.bag(indices, offsets, per_sample_weights=weights)


entries = 500003
width = 72
lookups = 600000
bags = 32768


def get_inputs():
    offsets = torch.randint(0, lookups, (bags,)).sort().values
    offsets[0] = 0
    return [torch.randint(0, entries, (lookups,)), offsets, torch.randn(lookups)]


def get_init_inputs():
    return [entries, width]
