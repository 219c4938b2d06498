import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Focal loss of every anchor over its classes, from logits and the right class; class -1 is background.

    Dense detectors such as CenterPoint. The one-hot targets need not exist in memory.
    """

    def __init__(self, alpha: float, gamma: float):
        super().__init__()
        self.alpha = alpha
        self.gamma = gamma

    def forward(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        classes = torch.arange(logits.shape[-1], device=logits.device)
        hit = labels[..., None] == classes
        signed = torch.where(hit, logits, -logits)
        missed = torch.sigmoid(-signed)
        weight = torch.where(hit, self.alpha, 1 - self.alpha)
        return (weight * missed**self.gamma * -F.logsigmoid(signed)).sum(dim=-1)


batch = 4
anchors = 60003
classes = 10


def get_inputs():
    logits = torch.randn(batch, anchors, classes) * 4 - 2
    return [logits, torch.randint(-1, classes, (batch, anchors))]


def get_init_inputs():
    return [0.25, 1.5]
