"""Rotations that are none of the known ones."""

import torch


def apply_rotary_backwards(x, cos, sin):
    """The sign is on the other half: the inverse rotation."""
    x_real, x_imag = x.reshape(*x.shape[:-1], -1, 2).unbind(-1)
    x_rotated = torch.stack([x_imag, -x_real], dim=-1).flatten(3)
    return (x.float() * cos + x_rotated.float() * sin).to(x.dtype)


def apply_rotary_swapped(x, cos, sin):
    """Cosine and sine have changed places."""
    x_real, x_imag = x.reshape(*x.shape[:-1], -1, 2).unbind(-1)
    x_rotated = torch.stack([-x_imag, x_real], dim=-1).flatten(3)
    return (x_rotated.float() * cos - x.float() * sin).to(x.dtype)


def rotate_strided_wrong(x, cos, sin):
    """Both places get the same value."""
    x1, x2 = x.unflatten(-1, (-1, 2)).unbind(-1)
    out = torch.empty_like(x)
    out[..., 0::2] = x1 * cos - x2 * sin
    out[..., 1::2] = x1 * cos - x2 * sin
    return out.type_as(x)


def apply_rotary_renamed(x, freqs):
    """A rotation; what is rotated has no name any more where the call would stand."""
    dtype = x.dtype
    x = torch.view_as_complex(x.float().view(*x.shape[:-1], -1, 2))
    freqs = freqs.view(1, x.size(1), 1, x.size(-1))
    x = torch.view_as_real(x * freqs).flatten(3)
    return x.to(dtype)
