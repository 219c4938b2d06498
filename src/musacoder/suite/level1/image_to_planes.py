import torch
import torch.nn as nn


class Model(nn.Module):
    """Makes normalised float planes from interleaved bytes: the first step of an image pipeline.

    Reads HWC bytes, writes CHW floats, and takes mean and deviation of each colour from buffers.
    """

    def __init__(self, mean: list, deviation: list):
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean))
        self.register_buffer("deviation", torch.tensor(deviation))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        scaled = (images / 255.0 - self.mean) / self.deviation
        return scaled.permute(0, 3, 1, 2).contiguous()


batch = 32
height = 375
width = 500


def get_inputs():
    return [torch.randint(0, 256, (batch, height, width, 3), dtype=torch.uint8)]


def get_init_inputs():
    return [[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]]
