"""The two parts are cast one by one before they are joined."""

import torch


def in_own_type(x, cos, sin):
    x1 = x[..., 0::2]
    x2 = x[..., 1::2]
    out = torch.stack(((x1 * cos - x2 * sin).to(x.dtype), (x1 * sin + x2 * cos).to(x.dtype)), dim=-1)
    return out.flatten(-2)


def cast_before_slices(x, cos, sin):
    x1, x2 = x.float()[..., 0::2], x.float()[..., 1::2]
    o1 = x1 * cos - x2 * sin
    o2 = x1 * sin + x2 * cos
    return torch.stack([o1.type_as(x), o2.type_as(x)], dim=-1).flatten(-2)


def in_the_shape_of_x(x, cos, sin):
    x1, x2 = x[..., 0::2].float(), x[..., 1::2].float()
    o1 = (x1 * cos - x2 * sin).type_as(x)
    o2 = (x1 * sin + x2 * cos).type_as(x)
    return torch.stack((o1, o2), dim=-1).reshape(x.shape)


def unbound(x, cos, sin):
    a, b = x.float().reshape(*x.shape[:-1], -1, 2).unbind(-1)
    return torch.stack([(a * cos - b * sin).to(x.dtype), (b * cos + a * sin).to(x.dtype)], -1).flatten(-2)


def of_two_tensors(x, y, cos, sin):
    x1, y2 = x[..., 0::2], y[..., 1::2]
    out = torch.stack(((x1 * cos - y2 * sin).to(x.dtype), (x1 * sin + y2 * cos).to(x.dtype)), dim=-1)
    return out.flatten(-2)


def halves_as_pairs(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return torch.stack([(a * cos - b * sin).to(x.dtype), (b * cos + a * sin).to(x.dtype)], -1).flatten(-2)


def always_half(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([(a * cos - b * sin).half(), (b * cos + a * sin).half()], -1).flatten(-2)
