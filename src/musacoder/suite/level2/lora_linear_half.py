import torch
import torch.nn as nn


class Model(nn.Module):
    """A linear layer of which each sample chooses a low-rank correction of its own, in half precision.

    Many adapters served in one batch: the base product is shared, the two thin ones go by sample.
    """

    def __init__(self, inputs: int, outputs: int, rank: int, adapters: int):
        super().__init__()
        half = {"dtype": torch.float16}
        self.weight = nn.Parameter(torch.randn(outputs, inputs, **half) * inputs**-0.5)
        self.down = nn.Parameter(torch.randn(adapters, rank, inputs, **half) * inputs**-0.5)
        self.up = nn.Parameter(torch.randn(adapters, outputs, rank, **half) * rank**-0.5)

    def forward(self, x: torch.Tensor, adapter: torch.Tensor) -> torch.Tensor:
        thin = torch.bmm(x, self.down[adapter].transpose(1, 2))
        return x @ self.weight.t() + torch.bmm(thin, self.up[adapter].transpose(1, 2))


batch = 12
tokens = 300
inputs = 1536
outputs = 1600
adapters = 9


def get_inputs():
    return [torch.randn(batch, tokens, inputs, dtype=torch.float16), torch.randint(0, adapters, (batch,))]


def get_init_inputs():
    return [inputs, outputs, 16, adapters]
