"""Halves turned: by an equation that brings them to the front, and stacked."""

import mindiesd.ext
import torch
from einops import rearrange


def to_the_front(x):
    a, b = rearrange(x, "... (j d) -> j ... d", j=2)
    return torch.cat((-b, a), dim=-1)


def stacked(x):
    a, b = x.chunk(2, dim=-1)
    return torch.stack((-b, a), dim=-2).flatten(-2)


def neighbours_to_the_front(x):
    a, b = rearrange(x, "... (d j) -> j ... d", j=2)
    return torch.cat((-b, a), dim=-1)


def stacked_as_pairs(x):
    a, b = x.chunk(2, dim=-1)
    return torch.stack((-b, a), dim=-1).flatten(-2)


def by_another_number(x):
    a, b = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((-b, a), dim=a.ndim - 2)


def rotate_to_the_front(x, cos, sin):
    return mindiesd.ext.rotary_position_embedding(x, cos, sin, result_type="promoted")


def rotate_stacked(x, cos, sin):
    return mindiesd.ext.rotary_position_embedding(
        x,
        cos,
        sin,
        rotated_mode="rotated_chunks",
        result_type="promoted",
    )


def neighbours(x, cos, sin):
    return x * cos + neighbours_to_the_front(x) * sin


def pairs(x, cos, sin):
    return x * cos + stacked_as_pairs(x) * sin


def other_axis(x, cos, sin):
    return x[..., : x.shape[-1] // 2].repeat(1, 1, 2, 1) * cos + by_another_number(x) * sin
