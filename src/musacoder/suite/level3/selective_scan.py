import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """The scan of Mamba: a small state for each channel decays and is fed at rates that depend on the input.

    Steps, input and output directions come from one projection of the input; a gate closes the block.
    """

    def __init__(self, channels: int, state: int, rank: int):
        super().__init__()
        self.split = [rank, state, state]
        self.project = nn.Linear(channels, rank + 2 * state, bias=False)
        self.step = nn.Linear(rank, channels)
        self.log_decay = nn.Parameter(torch.log(torch.arange(1, state + 1).float()).repeat(channels, 1))
        self.skip = nn.Parameter(torch.empty(channels).uniform_(0.5, 1.5))

    def forward(self, x: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
        rank, write, read = self.project(x).split(self.split, dim=-1)
        step = F.softplus(self.step(rank))
        decay = torch.exp(-step[..., None] * self.log_decay.exp())
        fed = (step * x)[..., None] * write[:, :, None]
        state = torch.zeros_like(fed[:, 0])
        outputs = []
        for t in range(x.shape[1]):
            state = decay[:, t] * state + fed[:, t]
            outputs.append((state * read[:, t, None]).sum(dim=-1))
        return (torch.stack(outputs, dim=1) + self.skip * x) * F.silu(gate)


batch = 4
length = 300
channels = 384
state = 16
rank = 24


def get_inputs():
    return [torch.randn(batch, length, channels), torch.randn(batch, length, channels)]


def get_init_inputs():
    return [channels, state, rank]
