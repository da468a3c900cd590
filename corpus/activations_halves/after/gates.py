"""Products gated by half of a tensor, the halves being slices."""

import mindiesd.ext
import torch
from torch import nn


def second_half(h):
    return mindiesd.ext.glu(h, "gelu")


def first_half(h):
    return mindiesd.ext.glu(h, "silu", gate="first")


def by_tanh(h):
    return mindiesd.ext.glu(h, "gelu-tanh")


def one_half_twice(h):
    d = h.shape[-1] // 2
    return mindiesd.ext.silu(h[..., :d]) * h[..., :d]


def a_third(h):
    d = h.shape[-1] // 3
    return mindiesd.ext.silu(h[..., :d]) * h[..., 2 * d :]


def of_two(h, g):
    d = h.shape[-1] // 2
    return mindiesd.ext.silu(h[..., :d]) * g[..., d:]


class ByAMethod(nn.Module):
    """A method computes the gate, in float32 on a device that has it in no other type."""

    def __init__(self, width):
        super().__init__()
        self.proj = nn.Linear(width, 2 * width)

    def gelu(self, gate):
        if gate.device.type == "mps":
            return mindiesd.ext.gelu(gate.to(dtype=torch.float32)).to(dtype=gate.dtype)
        return mindiesd.ext.gelu(gate)

    def forward(self, hidden_states):
        hidden_states = self.proj(hidden_states)
        return mindiesd.ext.glu(hidden_states, "gelu", dim=-1)
