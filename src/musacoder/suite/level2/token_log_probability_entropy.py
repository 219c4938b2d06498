import torch
import torch.nn as nn


class Model(nn.Module):
    """The log-probability of each sampled token and the entropy of the distribution that it came from.

    Reinforcement learning of language models: two numbers from each row of logits, at a temperature.
    """

    def __init__(self, temperature: float):
        super().__init__()
        self.temperature = temperature

    def forward(self, logits: torch.Tensor, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        log_p = torch.log_softmax(logits / self.temperature, dim=-1)
        chosen = log_p.gather(-1, tokens[..., None]).squeeze(-1)
        entropy = -(log_p.exp() * log_p).sum(dim=-1)
        return chosen, entropy


batch = 4
length = 600
vocabulary = 30011


def get_inputs():
    return [torch.randn(batch, length, vocabulary) * 5, torch.randint(0, vocabulary, (batch, length))]


def get_init_inputs():
    return [0.8]
