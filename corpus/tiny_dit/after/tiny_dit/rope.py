"""Rotary position embedding of neighbouring pairs (RoFormer, arXiv 2104.09864)."""

import mindiesd.ext
import torch


def rope_tables(length: int, width: int, theta: float = 10000.0, device=None):
    """cos and sin, each [1, length, 1, width]."""
    freqs = theta ** (-torch.arange(0, width, 2, device=device) / width)
    angles = torch.outer(torch.arange(length, device=device), freqs).repeat_interleave(2, dim=-1)
    return angles.cos()[None, :, None, :], angles.sin()[None, :, None, :]


def apply_rotary(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotates x of shape [batch, length, heads, head_dim]."""
    return mindiesd.ext.rotary_position_embedding(
        x,
        cos,
        sin,
        rotated_mode="rotated_interleaved",
    )
