import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Gates one half of each row by the SiLU of the other half, in half precision.

    The middle of a Llama MLP whose two projections are one product: gate and up lie side by side.
    """

    def forward(self, packed: torch.Tensor) -> torch.Tensor:
        gate, up = packed.chunk(2, dim=-1)
        return F.silu(gate) * up


tokens = 6000
intermediate = 5632


def get_inputs():
    return [torch.randn(tokens, 2 * intermediate, dtype=torch.float16) * 2]


def get_init_inputs():
    return []
