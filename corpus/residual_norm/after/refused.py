"""What keeps its norm by itself: a call takes the sum before, a branch lies between, an operand is written to."""

import mindiesd.ext
import torch
from torch import nn


class Called(nn.Module):
    """A layer is called with the sum before the norm is taken."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, width), nn.ReLU())

    def forward(self, x, y):
        x = x + y
        skip = self.mlp(x)
        h = mindiesd.fast_layernorm(self.norm, x)
        return x + h * skip


class Branch(nn.Module):
    """The norm is taken only where it is asked for."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mlp = nn.Linear(width, width)

    def forward(self, x, y, normed=True):
        x = x + y
        h = x
        if normed:
            h = mindiesd.fast_layernorm(self.norm, x)
        return x + self.mlp(h)


class Written(nn.Module):
    """The operand of the sum changes in place before the norm."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x, y):
        total = x + y
        x[:, 0] = 0
        h = mindiesd.fast_layernorm(self.norm, total)
        return total + h * x


class Chosen(nn.Module):
    """The norm is evaluated on one side of a condition."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x, y, plain=False):
        x = x + y
        h = x if plain else mindiesd.fast_layernorm(self.norm, x)
        return x * h


class Itself(nn.Module):
    """The scale is computed from the sum."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.to_scale = nn.Linear(width, width)

    def forward(self, x, y):
        x = x + y
        h = mindiesd.ext.layernorm_scale_shift(self.norm, x, self.to_scale(x))
        return x * h


class OnlyNormed(nn.Module):
    """Nobody reads the sum but the norm, which is a norm like any other."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x, y):
        return mindiesd.fast_layernorm(self.norm, x + y)
