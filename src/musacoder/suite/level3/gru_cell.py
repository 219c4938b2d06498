import torch
import torch.nn as nn


class Model(nn.Module):
    """One step of a gated recurrent unit: new hidden state from input and old state.

    Online speech and control, where steps cannot be batched: two thin products and three gates to fuse with them.
    """

    def __init__(self, inputs: int, hidden: int):
        super().__init__()
        self.cell = nn.GRUCell(inputs, hidden)
        for weight in self.cell.parameters():
            nn.init.normal_(weight, std=2 * hidden**-0.5)

    def forward(self, x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        return self.cell(x, state)


batch = 500
inputs = 320
hidden = 1000


def get_inputs():
    return [torch.randn(batch, inputs), torch.randn(batch, hidden)]


def get_init_inputs():
    return [inputs, hidden]
