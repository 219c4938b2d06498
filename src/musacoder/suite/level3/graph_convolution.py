import torch
import torch.nn as nn


class Model(nn.Module):
    """Two graph convolutions: features times weights, then weighted sums over incoming edges, each node with itself.

    Node classification. Edge lists in any order, weights of the symmetric normalisation computed from degrees.
    """

    def __init__(self, inputs: int, hidden: int, classes: int):
        super().__init__()
        self.first = nn.Linear(inputs, hidden)
        self.second = nn.Linear(hidden, classes)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        source, target = edges
        degree = torch.ones_like(x[:, 0]).index_add(0, target, torch.ones_like(target, dtype=x.dtype))
        norm = degree.rsqrt()
        weight = (norm[source] * norm[target])[:, None]
        hidden = torch.relu(self._spread(self.first(x), source, target, weight, degree))
        return self._spread(self.second(hidden), source, target, weight, degree)

    def _spread(self, x, source, target, weight, degree):
        return (x / degree[:, None]).index_add(0, target, x[source] * weight)


nodes = 60001
edges = 500000
inputs = 140
hidden = 64
classes = 7


def get_inputs():
    return [torch.randn(nodes, inputs) * 2, torch.randint(0, nodes, (2, edges))]


def get_init_inputs():
    return [inputs, hidden, classes]
