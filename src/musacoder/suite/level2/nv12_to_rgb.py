import torch
import torch.nn as nn


class Model(nn.Module):
    """Makes RGB planes from a video decoder's NV12 bytes: luma at full, interleaved chroma at half resolution.

    BT.709 limited range. Every chroma pair serves four pixels; results are floats between 0 and 1.
    """

    def forward(self, luma: torch.Tensor, chroma: torch.Tensor) -> torch.Tensor:
        y = (luma.float() - 16) / 219
        pair = (chroma.float() - 128) / 224
        pair = pair.repeat_interleave(2, dim=1).repeat_interleave(2, dim=2)
        u, v = pair[..., 0], pair[..., 1]
        red = y + 1.5748 * v
        green = y - 0.1873 * u - 0.4681 * v
        blue = y + 1.8556 * u
        return torch.stack([red, green, blue], dim=1).clamp(0, 1)


frames = 8
half_height = 270
half_width = 480


def get_inputs():
    luma = torch.randint(16, 236, (frames, 2 * half_height, 2 * half_width), dtype=torch.uint8)
    return [luma, torch.randint(16, 241, (frames, half_height, half_width, 2), dtype=torch.uint8)]


def get_init_inputs():
    return []
