"""The two parts are cast one by one before they are joined."""

import mindiesd.ext
import torch


def in_own_type(x, cos, sin):
    return mindiesd.ext.rotary_position_embedding(
        x,
        cos,
        sin,
        rotated_mode="rotated_interleaved",
        strides="dense",
    )


def cast_before_slices(x, cos, sin):
    return mindiesd.ext.rotary_position_embedding(
        x,
        cos,
        sin,
        rotated_mode="rotated_interleaved",
        strides="dense",
    )


def in_the_shape_of_x(x, cos, sin):
    return mindiesd.ext.rotary_position_embedding(
        x,
        cos,
        sin,
        rotated_mode="rotated_interleaved",
        strides="dense",
    )


def unbound(x, cos, sin):
    return mindiesd.ext.rotary_position_embedding(
        x,
        cos,
        sin,
        rotated_mode="rotated_interleaved",
        strides="dense",
    )


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
