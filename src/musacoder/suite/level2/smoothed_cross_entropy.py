import torch
import torch.nn as nn


class Model(nn.Module):
    """Cross entropy of each token with smoothed labels and a penalty on the normaliser; label -100 costs nothing.

    The last operator of language-model training: one pass over a large vocabulary in place of five.
    """

    def __init__(self, smoothing: float, penalty: float):
        super().__init__()
        self.smoothing = smoothing
        self.penalty = penalty

    def forward(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        normaliser = torch.logsumexp(logits, dim=-1)
        ignored = labels == -100
        right = logits.gather(-1, labels.masked_fill(ignored, 0)[:, None]).squeeze(-1)
        sharp = normaliser - right
        flat = normaliser - logits.mean(dim=-1)
        loss = (1 - self.smoothing) * sharp + self.smoothing * flat + self.penalty * normaliser.square()
        return loss.masked_fill(ignored, 0.0)


tokens = 2100
vocabulary = 49153


def get_inputs():
    labels = torch.randint(0, vocabulary, (tokens,))
    ignored = torch.rand(tokens) < 0.1
    return [torch.randn(tokens, vocabulary) * 8, labels.masked_fill(ignored, -100)]


def get_init_inputs():
    return [0.1, 1e-3]
