"""Activations and gates, and what looks like one."""
# ruff: noqa

import math

import torch
import torch.nn.functional as F


def gelu_var(x, w):
    return F.gelu(x, approximate="tanh" if w.sum() > 100 else "none")


def quick_c(x, w):
    return x * torch.sigmoid(1.7 * x)


def quick(x, w):
    return x * torch.sigmoid(1.702 * x)


def quick_neg(x, w):
    return x * torch.sigmoid(-1.702 * x)


def quick_other(x, w):
    y = x + 1
    return y * torch.sigmoid(1.702 * x)


def silu_gate_half(x, w):
    a, b = x.chunk(2, -1)
    return F.silu(a) * b


def silu_gate_rev(x, w):
    a, b = x.chunk(2, -1)
    return a * F.silu(b)


def silu_gate_same(x, w):
    a, b = x.chunk(2, -1)
    return F.silu(a) * a


def silu_gate_dim1(x, w):
    a, b = x.chunk(2, 1)
    return F.silu(a) * b


def gelu_gate_tanh(x, w):
    a, b = x.chunk(2, -1)
    return F.gelu(a, approximate="tanh") * b


def gelu_gate(x, w):
    a, b = x.chunk(2, dim=-1)
    return a * F.gelu(b)


def gate_split(x, w):
    a, b = x.split([4, 4], -1)
    return a * F.gelu(b)


def gate_split_uneven(x, w):
    a, b, c = x.split([2, 2, 4], -1)
    return a * F.gelu(b)


def gate_3(x, w):
    a, b, c = x.chunk(3, -1)
    return a[..., :2] * F.gelu(b)[..., :2]


def gate_chunk_3of4(x, w):
    a, b, c = x[..., :6].chunk(3, -1)
    return F.silu(a) * b


def gate_inplace(x, w):
    a, b = x.chunk(2, -1)
    a += 1
    return F.silu(a) * b + x[..., :4]


def gate_overwritten(x, w):
    a, b = x.chunk(2, -1)
    x.mul_(2)
    return F.silu(a) * b


def gelu_int(x, w):
    return F.gelu(x.double())


def silu_inplace(x, w):
    y = F.silu(x, inplace=True)
    return y * 1 + x


def silu_gate_inplace(x, w):
    a, b = x.chunk(2, -1)
    y = F.silu(a, inplace=True) * b
    return torch.cat([y, a, x[..., :2]], -1)


def tanh_hand(x, w):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x.pow(3))))


def tanh_hand_wrong(x, w):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x.pow(2))))


def erf_hand(x, w):
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


def glu_half_broadcast(x, w):
    a, b = x.chunk(2, -1)
    return F.silu(a) * b[:1]


def relu_gate(x, w):
    a, b = x.chunk(2, -1)
    return F.relu(a) * b


def act_detach(x, w):
    a, b = x.detach().chunk(2, -1)
    return F.gelu(b) * a


def closure_gate(x, w):
    a, b = x.chunk(2, -1)
    f = lambda: F.silu(a) * b
    a = a * 2
    return f()


def default_gate(x, w):
    a, b = x.chunk(2, -1)

    def f(a=a):
        return F.silu(a) * b

    a = a * 2
    return f()
