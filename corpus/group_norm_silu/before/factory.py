"""Norms that functions of the file make."""
import torch
import torch.nn.functional as F
from torch import nn


def normalize(channels, groups=2):
    """As many groups as two."""
    return nn.GroupNorm(num_groups=groups, num_channels=channels, eps=1e-6)


def swish(x):
    return x * torch.sigmoid(x)


def one_of_two(channels, batched=False):
    if batched:
        return nn.BatchNorm2d(channels)
    return nn.GroupNorm(2, channels)


def made_and_kept(channels, kept=[]):
    kept.append(nn.GroupNorm(2, channels))
    return kept[-1]


def doubled(make):
    return lambda channels: nn.Sequential(make(channels), make(channels))


@doubled
def decorated(channels):
    return nn.GroupNorm(2, channels)


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm1 = normalize(channels)
        self.norm2 = normalize(channels, groups=4)

    def forward(self, x):
        h = self.norm1(x)
        h = swish(h)
        return x + F.silu(self.norm2(h), inplace=True)


class Unknown(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.either = one_of_two(channels)
        self.kept = made_and_kept(channels)
        self.both = decorated(channels)

        def normalize(channels):
            return nn.BatchNorm2d(channels)

        self.local = normalize(channels)
        with torch.no_grad() as swish:
            self.size = (width := channels) if swish is None else 0

    def forward(self, x):
        x = F.silu(self.either(x))
        x = F.silu(self.kept(x))
        x = F.silu(self.both(x))
        return F.silu(self.local(x))
