"""Images of twice the size, as decoders and UNets make them."""
import torch
import torch.nn.functional as F
from torch import nn


class Upsample2D(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, hidden_states, output_size=None):
        if output_size is None:
            hidden_states = F.interpolate(hidden_states, scale_factor=2.0, mode="nearest")
        else:
            hidden_states = F.interpolate(hidden_states, size=output_size, mode="nearest")
        return self.conv(hidden_states)


class Decoder(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        return self.conv(F.interpolate(x, scale_factor=2, mode="nearest"))

    def in_float32(self, x):
        return F.interpolate(x.to(torch.float32), scale_factor=2.0).to(x.dtype)

    def by_position(self, x):
        return torch.nn.functional.interpolate(x, None, 2.0, "nearest", None)


def lines(x):
    return F.interpolate(x, scale_factor=2)
