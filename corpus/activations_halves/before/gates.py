"""Products gated by half of a tensor, the halves being slices."""

import torch
import torch.nn.functional as F
from torch import nn


def second_half(h):
    return h[..., : h.shape[-1] // 2] * F.gelu(h[..., h.shape[-1] // 2 :])


def first_half(h):
    d = h.shape[-1] // 2
    return F.silu(h[..., :d]) * h[..., d:]


def by_tanh(h):
    d = h.size(-1) // 2
    value, gate = h[..., :d], h[..., d:]
    return value * F.gelu(gate, approximate="tanh")


def one_half_twice(h):
    d = h.shape[-1] // 2
    return F.silu(h[..., :d]) * h[..., :d]


def a_third(h):
    d = h.shape[-1] // 3
    return F.silu(h[..., :d]) * h[..., 2 * d :]


def of_two(h, g):
    d = h.shape[-1] // 2
    return F.silu(h[..., :d]) * g[..., d:]


class ByAMethod(nn.Module):
    """A method computes the gate, in float32 on a device that has it in no other type."""

    def __init__(self, width):
        super().__init__()
        self.proj = nn.Linear(width, 2 * width)

    def gelu(self, gate):
        if gate.device.type == "mps":
            return F.gelu(gate.to(dtype=torch.float32)).to(dtype=gate.dtype)
        return F.gelu(gate)

    def forward(self, hidden_states):
        hidden_states = self.proj(hidden_states)
        hidden_states, gate = hidden_states.chunk(2, dim=-1)
        return hidden_states * self.gelu(gate)
