"""Functions that TorchScript compiles though no decorator of theirs says so."""

import mindiesd.ext
import torch
import torch.nn as nn
import torch.nn.functional as F


def quick_gelu(x):
    return x * torch.sigmoid(1.702 * x)


quick_gelu = torch.jit.script(quick_gelu)


def gate(x):
    return F.gelu(x, approximate="tanh")


@torch.jit.script
def gated(x, y):
    return gate(x) * y


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fast = torch.jit.script(Inner(8))
        self.turn = torch.jit.script(obj=rotate)

    def forward(self, x, cos, sin):
        return mindiesd.ext.silu(self.fast(self.turn(x, cos, sin)))


class Inner(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return F.rms_norm(x, (8,), self.scale, 1e-6)


def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


def rotate(x, cos, sin):
    return x * cos + rotate_half(x) * sin


def left_to_python(x):
    return mindiesd.ext.gelu(x)
