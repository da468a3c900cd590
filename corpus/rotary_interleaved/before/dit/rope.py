"""Rotary position embedding of neighbouring pairs."""

import torch


def rope_tables(length: int, width: int, theta: float = 10000.0):
    freqs = theta ** (-torch.arange(0, width, 2) / width)
    angles = torch.outer(torch.arange(length), freqs).repeat_interleave(2, dim=-1)
    return angles.cos(), angles.sin()


def apply_rotary(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotates x of shape [batch, heads, sequence, head_dim] in float32."""
    x_real, x_imag = x.reshape(*x.shape[:-1], -1, 2).unbind(-1)
    x_rotated = torch.stack([-x_imag, x_real], dim=-1).flatten(3)
    # The tables stay in float32: half precision is too coarse for long sequences.
    return (x.float() * cos + x_rotated.float() * sin).to(x.dtype)
