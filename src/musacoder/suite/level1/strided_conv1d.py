import torch
import torch.nn as nn


class Model(nn.Module):
    """A convolution of raw audio with ten taps and a stride of five.

    The first layer of wav2vec: one channel in, many out, and the last samples fill no window.
    """

    def __init__(self, channels: int):
        super().__init__()
        self.conv = nn.Conv1d(1, channels, 10, stride=5)

    def forward(self, audio: torch.Tensor) -> torch.Tensor:
        return self.conv(audio)


batch = 16
channels = 512
samples = 16007


def get_inputs():
    return [torch.randn(batch, 1, samples)]


def get_init_inputs():
    return [channels]
