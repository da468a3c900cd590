"""Products gated by half of a tensor, the halves being slices."""

import torch.nn.functional as F


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
