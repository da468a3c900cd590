"""Methods that TorchScript compiles where a setting asks for it."""

import os

import mindiesd.ext
import torch
import torch.nn.functional as F
from torch import nn


def as_it_is(method):
    return method


Base = nn.Module
compiled = as_it_is
if os.environ.get("COMPILED") == "1":
    Base = torch.jit.ScriptModule
    compiled = torch.jit.script_method


class Mixer(Base):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.gate = nn.Linear(width, width)

    @compiled
    def gated(self, x):
        return F.silu(self.gate(x)), self.norm(x)

    @as_it_is
    def plain(self, x):
        return mindiesd.ext.silu(x)

    def forward(self, x):
        gate, normed = self.gated(x)
        return mindiesd.ext.gelu(gate) + normed
