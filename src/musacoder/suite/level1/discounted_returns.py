import torch
import torch.nn as nn


class Model(nn.Module):
    """Sums of later rewards, each step's discounted, from the last step to the first and cut where an episode ends.

    A reversed linear recurrence, as in advantage estimation for policy gradients.
    """

    def __init__(self, discount: float):
        super().__init__()
        self.discount = discount

    def forward(self, rewards: torch.Tensor, done: torch.Tensor) -> torch.Tensor:
        carry = torch.zeros_like(rewards[0])
        returns = []
        for step in range(rewards.shape[0] - 1, -1, -1):
            carry = rewards[step] + self.discount * carry * ~done[step]
            returns.append(carry)
        return torch.stack(returns[::-1])


steps = 384
environments = 5000


def get_inputs():
    return [torch.randn(steps, environments), torch.rand(steps, environments) < 0.05]


def get_init_inputs():
    return [0.97]
