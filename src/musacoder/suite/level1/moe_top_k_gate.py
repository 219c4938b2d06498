import torch
import torch.nn as nn


class Model(nn.Module):
    """Chooses each token's k experts and the weights of their answers, which add up to one.

    The router of a mixture of experts: k small, and the expert's number is an output too.
    """

    def __init__(self, k: int):
        super().__init__()
        self.k = k

    def forward(self, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        best, experts = torch.topk(logits, self.k, dim=-1)
        return torch.softmax(best, dim=-1), experts


tokens = 100000
experts = 60


def get_inputs():
    # No two logits of a token are alike: of equal ones any may be chosen, and every choice is right.
    ranks = torch.rand(tokens, experts).argsort(dim=-1)
    return [(ranks + 0.5 * torch.rand(tokens, experts)) * 0.15 - 4]


def get_init_inputs():
    return [6]
