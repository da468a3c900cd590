"""Images of twice the size, as decoders and UNets make them."""
import mindiesd.ext
import torch
import torch.nn.functional as F
from torch import nn


class Upsample2D(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, hidden_states, output_size=None):
        if output_size is None:
            hidden_states = mindiesd.ext.upsample_nearest2x(hidden_states)
        else:
            hidden_states = F.interpolate(hidden_states, size=output_size, mode="nearest")
        return self.conv(hidden_states)


class Decoder(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        return self.conv(mindiesd.ext.upsample_nearest2x(x))

    def in_float32(self, x):
        return mindiesd.ext.upsample_nearest2x(x.to(torch.float32)).to(x.dtype)

    def by_position(self, x):
        return mindiesd.ext.upsample_nearest2x(x)


def lines(x):
    return mindiesd.ext.upsample_nearest2x(x)
