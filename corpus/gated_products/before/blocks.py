"""Products gated by silu or gelu."""

import torch
import torch.nn.functional as F
from diffusers.models.activations import FP32SiLU
from torch import nn


class Twice(nn.Module):
    """Not known, so that it may do anything to what it is given."""

    def forward(self, x):
        return x.mul_(2)


class SwiGLU(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.w1 = nn.Linear(width, inner)
        self.w2 = nn.Linear(inner, width)
        self.w3 = nn.Linear(width, inner)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class GeGLU(SwiGLU):
    def forward(self, x):
        gate = F.gelu(self.w1(x))
        return self.w2(self.w3(x) * gate)


class Layers(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.proj = nn.Linear(width, 2 * inner)
        self.act = nn.SiLU()
        self.wide = FP32SiLU()

    def forward(self, x):
        value, gate = self.proj(x).chunk(2, dim=-1)
        return value * self.act(gate), self.wide(gate) * value


class Wide(nn.Module):
    def forward(self, inputs):
        return F.silu(inputs.float(), inplace=False).to(inputs.dtype)


def swiglu(x, y):
    return F.silu(x, inplace=False) * y


def in_float32(x, y):
    return F.silu(x.float(), inplace=False).to(x.dtype) * y


def by_channels(x, gate):
    """The gate has one value for a channel."""
    return x * F.silu(gate)[:, None]


def viewed(x, gate):
    """The product lies as the gate, which a view may tell."""
    return (F.silu(gate) * x).view(2, -1)


class Unknown(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Twice()
        self.second = Twice()

    def forward(self, x):
        """The order of these two calls counts."""
        return F.silu(self.first(x)) * self.second(x)


def kept(x, gate):
    """What is activated is read elsewhere, too."""
    active = F.silu(gate)
    return active * x, active


def by_a_number(x):
    return F.silu(x) * 0.5


@torch.jit.script
def scripted(x, gate):
    return F.silu(gate) * x
