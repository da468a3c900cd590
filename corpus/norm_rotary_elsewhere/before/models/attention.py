"""The attention objects, whose norms a configuration chooses."""

import torch
from diffusers.models.normalization import FP32LayerNorm, LpNorm, RMSNorm
from torch import nn


class Doubled(nn.Module):
    """A norm of its own, with the names that an RMSNorm has."""

    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):
        return x * self.weight * 2 + self.eps


class Attention(nn.Module):
    def __init__(self, width, heads, qk_norm=None, added=None, processor=None):
        super().__init__()
        self.head_dim = width // heads
        self.to_q = nn.Linear(width, width)
        if qk_norm is None:
            self.norm_q = None
        elif qk_norm == "layer_norm":
            self.norm_q = nn.LayerNorm(width // heads)
        elif qk_norm == "fp32_layer_norm":
            self.norm_q = FP32LayerNorm(width // heads, elementwise_affine=False, bias=False)
        elif qk_norm == "rms_norm":
            self.norm_q = RMSNorm(width // heads, eps=1e-6)
        elif qk_norm == "l2":
            self.norm_q = LpNorm(p=2, dim=-1, eps=1e-6)
        else:
            raise ValueError(f"unknown norm {qk_norm}")
        self.norm_added_q = None
        if added is not None:
            self.add_q_proj = nn.Linear(added, width)
            self.norm_added_q = RMSNorm(width // heads, eps=1e-6)
        self.norm_q_inherited = RMSNorm(width // heads, eps=1e-6)
        self.norm_q_mixed = RMSNorm(width // heads, eps=1e-6) if qk_norm else Doubled(width // heads)
        self.norm_q_exchanged = RMSNorm(width // heads, eps=1e-6)
        self.processor = processor

    def forward(self, hidden_states, *others):
        return self.processor(self, hidden_states, *others)
