"""Objects that are no tensors: their sums and products are their own."""
import mindiesd
from torch import nn


class Rows:
    def __init__(self, features):
        self.features = features

    def __add__(self, other):
        return Rows(self.features + other.features)

    def __mul__(self, factor):
        return Rows(self.features * factor.mean(0))


class Apply(nn.Linear):
    def forward(self, rows):
        return Rows(super().forward(rows.features))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.ff = Apply(width, width)

    def forward(self, x: Rows, gate):
        h = Rows(mindiesd.fast_layernorm(self.norm, x.features))
        h = self.ff(h)
        h = h * gate
        x = x + h
        h = self.ff(x)
        h = h * gate
        return x + h
