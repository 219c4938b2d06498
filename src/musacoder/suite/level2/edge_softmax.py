import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Softmax of edge scores over all edges that end in the same node, a softmax for each head.

    Graph attention. Edges come in any order; nodes have from none to many.
    """

    def __init__(self, nodes: int, slope: float):
        super().__init__()
        self.nodes = nodes
        self.slope = slope

    def forward(self, source_score: torch.Tensor, target_score: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        source, target = edges
        score = F.leaky_relu(source_score[source] + target_score[target], self.slope)
        index = target[:, None].expand_as(score)
        base = torch.full((self.nodes, score.shape[1]), float("-inf"), dtype=score.dtype, device=score.device)
        largest = base.scatter_reduce(0, index, score, reduce="amax")
        exponential = torch.exp(score - largest[target])
        total = torch.zeros_like(base).index_add(0, target, exponential)
        return exponential / total[target]


nodes = 60007
edges = 1000000
heads = 6


def get_inputs():
    scores = [torch.randn(nodes, heads) * 2, torch.randn(nodes, heads) * 2]
    return [*scores, torch.randint(0, nodes, (2, edges))]


def get_init_inputs():
    return [nodes, 0.2]
