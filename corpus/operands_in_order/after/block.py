"""Operands that do something as they are evaluated, and values that a call may change."""

import mindiesd.ext
import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width, elementwise_affine=False)

    def shift_first(self, x, parts):
        return parts.pop() + mindiesd.ext.layernorm_scale_shift(self.norm, x, parts.pop())

    def scale_first(self, x, parts):
        return mindiesd.ext.layernorm_scale_shift(self.norm, x, parts.pop(), parts.pop())

    def bound_first(self, x, part):
        return (shift := part.tanh()) + mindiesd.fast_layernorm(self.norm, x) * (1 + shift)


def changed_between(x, change):
    a = x.float()
    change(x)
    b = x.float()
    return b * torch.rsqrt(a.pow(2).mean(-1, keepdim=True) + 1e-6)


def read_twice(x, see):
    a = x.float()
    see(a.shape)
    b = x.float()
    return mindiesd.ext.rms_norm(b, eps=1e-6, result_type="input")


def changed_inside(x, change):
    a = x.float()
    change([x.view(-1)])
    b = x.float()
    return b * torch.rsqrt(a.pow(2).mean(-1, keepdim=True) + 1e-6)


def changed_through_a_view(x):
    a = x.float()
    x.view(-1).renew()
    b = x.float()
    return b * torch.rsqrt(a.pow(2).mean(-1, keepdim=True) + 1e-6)
