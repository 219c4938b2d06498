import torch
import torch.nn as nn


class Model(nn.Module):
    """A small recommender: tables for categories, a network for numbers, products of every pair, a network on top.

    DLRM. Each sample names one row of each table; of the pairs only those below the diagonal count.
    """

    def __init__(self, tables: int, entries: int, width: int, numbers: int, hidden: int):
        super().__init__()
        self.tables = nn.Parameter(torch.randn(tables, entries, width) * 0.5)
        self.bottom = nn.Sequential(nn.Linear(numbers, hidden), nn.ReLU(), nn.Linear(hidden, width), nn.ReLU())
        pairs = (tables + 1) * tables // 2
        self.top = nn.Sequential(nn.Linear(width + pairs, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, numbers: torch.Tensor, categories: torch.Tensor) -> torch.Tensor:
        dense = self.bottom(numbers)
        table = torch.arange(categories.shape[1], device=categories.device)
        features = torch.cat([dense[:, None], self.tables[table, categories]], dim=1)
        products = features @ features.transpose(1, 2)
        row, column = torch.tril_indices(features.shape[1], features.shape[1], -1, device=numbers.device)
        return self.top(torch.cat([dense, products[:, row, column]], dim=1)).squeeze(-1)


batch = 20000
tables = 9
entries = 50003
width = 24
numbers = 13
hidden = 96


def get_inputs():
    return [torch.randn(batch, numbers) * 2, torch.randint(0, entries, (batch, tables))]


def get_init_inputs():
    return [tables, entries, width, numbers, hidden]
