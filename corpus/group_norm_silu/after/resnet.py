"""Blocks of an autoencoder: GroupNorm and SiLU in front of each convolution."""

import mindiesd.ext
from diffusers.models.activations import get_activation
from torch import nn


def swish(x):
    return mindiesd.ext.silu(x)


class ResnetBlock(nn.Module):
    """The activation is chosen by a name."""

    def __init__(self, channels, groups=4, act_fn="silu"):
        super().__init__()
        self.norm1 = nn.GroupNorm(groups, channels, eps=1e-6)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm2 = nn.GroupNorm(groups, channels, eps=1e-6)
        self.dropout = nn.Dropout(0.1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.nonlinearity = get_activation(act_fn)

    def forward(self, x, temb=None):
        h = x
        # before the first convolution
        h = mindiesd.ext.group_norm(self.norm1, h, self.nonlinearity)
        h = self.conv1(h)
        if temb is not None:
            h = h + self.nonlinearity(temb)[:, :, None, None]
        h = mindiesd.ext.group_norm(self.norm2, h, self.nonlinearity)
        h = self.dropout(h)
        return x + self.conv2(h)


class Out(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm_out = nn.GroupNorm(4, channels)
        self.conv_out = nn.Conv2d(channels, 3, 3, padding=1)

    def forward(self, x):
        return self.conv_out(mindiesd.ext.group_norm(self.norm_out, x, "silu"))


class Swished(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.GroupNorm(num_groups=4, num_channels=channels)
        self.conv = nn.Conv1d(channels, channels, 1)

    def forward(self, x):
        return self.conv(mindiesd.ext.group_norm(self.norm, x, "silu"))


class Optional(nn.Module):
    """The norm, and the activation, may be left out."""

    def __init__(self, channels, normed=True, active=True):
        super().__init__()
        self.norm = nn.GroupNorm(2, channels) if normed else None
        self.act = nn.SiLU() if active else nn.Identity()

    def forward(self, x):
        if self.norm is not None:
            x = mindiesd.ext.group_norm(self.norm, x, self.act)
        return x
