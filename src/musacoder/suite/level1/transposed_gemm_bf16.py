import torch
import torch.nn as nn


class Model(nn.Module):
    """A product of bfloat16 matrices of which the first is stored by columns: a gradient of a linear layer's weight.

    The summed dimension is the tokens', longer than either side of the result.
    """

    def forward(self, grad: torch.Tensor, activations: torch.Tensor) -> torch.Tensor:
        return torch.matmul(grad.transpose(0, 1), activations)


tokens = 16008
outputs = 1400
inputs = 1280


def get_inputs():
    grad = torch.randn(tokens, outputs, dtype=torch.bfloat16)
    return [grad, torch.randn(tokens, inputs, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
