import torch
import torch.nn as nn


class Model(nn.Module):
    """One step of AdamW: new weights and both new moments from weights, gradient and moments.

    A fused optimiser reads four arrays and writes three, once. `step` counts from one.
    """

    def __init__(self, rate: float, decay: float):
        super().__init__()
        self.rate = rate
        self.decay = decay

    def forward(self, weight: torch.Tensor, grad: torch.Tensor, mean: torch.Tensor, square: torch.Tensor, step: int):
        mean = 0.9 * mean + 0.1 * grad
        square = 0.95 * square + 0.05 * grad * grad
        correction = 1 - 0.9**step
        deviation = (square / (1 - 0.95**step)).sqrt() + 1e-8
        weight = weight * (1 - self.rate * self.decay) - self.rate / correction * mean / deviation
        return weight, mean, square


weights = 7000003


def get_inputs():
    grad = torch.randn(weights) * 0.1
    return [torch.randn(weights) * 0.1, grad, torch.randn(weights) * 0.05, torch.rand(weights) * 0.01, 3]


def get_init_inputs():
    return [0.02, 0.1]
