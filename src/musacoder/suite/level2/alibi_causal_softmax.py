import torch
import torch.nn as nn


class Model(nn.Module):
    """Causal softmax of scores from which the distance to each key is subtracted, steeper by head; padding is masked.

    Attention with linear biases (BLOOM, MPT). Keys at and after a sequence's own length must not count.
    """

    def __init__(self, heads: int):
        super().__init__()
        self.register_buffer("slopes", 2.0 ** (-8.0 * (torch.arange(heads) + 1) / heads))

    def forward(self, scores: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        place = torch.arange(scores.shape[-1], device=scores.device)
        distance = place[:, None] - place
        biased = scores - self.slopes[:, None, None] * distance
        hidden = (distance < 0) | (place >= lengths[:, None, None, None])
        return torch.softmax(biased.masked_fill(hidden, float("-inf")), dim=-1)


batch = 6
heads = 12
length = 700


def get_inputs():
    return [torch.randn(batch, heads, length, length) * 2, torch.randint(1, length + 1, (batch,))]


def get_init_inputs():
    return [heads]
