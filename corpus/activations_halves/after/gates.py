"""Products gated by half of a tensor, the halves being slices."""

import mindiesd.ext


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
