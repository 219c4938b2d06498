import torch
import torch.nn as nn


class Model(nn.Module):
    """Unpacks two 4-bit weights from each byte and gives them their group's scale and zero point, in half precision.

    What a 4-bit language model (AWQ, GPTQ) does to its weights; the low nibble comes first.
    """

    def __init__(self, group: int):
        super().__init__()
        self.group = group

    def forward(self, packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
        nibbles = torch.stack([packed & 15, packed >> 4], dim=-1).flatten(1)
        scales = scale.repeat_interleave(self.group, dim=1)
        zeros = zero.repeat_interleave(self.group, dim=1)
        return (nibbles.to(torch.float16) - zeros.to(torch.float16)) * scales


rows = 4096
groups = 44
group = 64


def get_inputs():
    packed = torch.randint(0, 256, (rows, groups * group // 2), dtype=torch.uint8)
    scale = torch.rand(rows, groups, dtype=torch.float16) * 0.02 + 0.01
    return [packed, scale, torch.randint(0, 16, (rows, groups), dtype=torch.uint8)]


def get_init_inputs():
    return [group]
