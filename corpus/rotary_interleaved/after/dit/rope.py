"""Rotary position embedding of neighbouring pairs."""

import mindiesd.ext
import torch


def rope_tables(length: int, width: int, theta: float = 10000.0):
    freqs = theta ** (-torch.arange(0, width, 2) / width)
    angles = torch.outer(torch.arange(length), freqs).repeat_interleave(2, dim=-1)
    return angles.cos(), angles.sin()


def apply_rotary(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotates x of shape [batch, heads, sequence, head_dim] in float32."""
    # The tables stay in float32: half precision is too coarse for long sequences.
    return mindiesd.ext.rotary_position_embedding(
        x,
        cos,
        sin,
        rotated_mode="rotated_interleaved",
    )
