"""The model: patches in, patches out."""

import mindiesd.ext
import torch
from torch import nn

from .attention import CrossAttention, SelfAttention
from .layers import FeedForward
from .rope import rope_tables


class Block(nn.Module):
    def __init__(self, width: int, text_width: int, heads: int):
        super().__init__()
        self.norm1 = mindiesd.ext.RMSNorm(width, eps=1e-6)
        self.attention = SelfAttention(width, heads)
        self.cross_attention = CrossAttention(width, text_width, heads)
        self.norm2 = mindiesd.ext.RMSNorm(width, eps=1e-6)
        self.feed_forward = FeedForward(width)
        self.modulation = nn.Linear(width, 4 * width)

    def forward(self, x, text, time, rotary, mask=None):
        scale1, gate1, scale2, gate2 = self.modulation(time).unsqueeze(1).chunk(4, dim=-1)
        x = mindiesd.ext.residual(
            x,
            self.attention(mindiesd.ext.norm_scale_shift(self.norm1, x, scale1), rotary, mask),
            gate1,
        )
        x, normed = mindiesd.ext.residual_norm(
            self.norm2,
            x,
            self.cross_attention(x, text),
            scale=scale2,
        )
        return mindiesd.ext.residual(x, self.feed_forward(normed), gate2)


class TinyDiT(nn.Module):
    """Predicts the noise in patches [batch, length, channels] for a prompt and a time step."""

    def __init__(self, channels=16, width=48, text_width=32, heads=3, blocks=2):
        super().__init__()
        self.head_dim = width // heads
        self.into = nn.Linear(channels, width)
        self.time = nn.Sequential(nn.Linear(1, width), nn.SiLU(), nn.Linear(width, width))
        self.blocks = nn.ModuleList(Block(width, text_width, heads) for _ in range(blocks))
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, channels)

    def forward(self, patches, text, time, mask=None):
        x = self.into(patches)
        time = self.time(time[:, None])
        rotary = rope_tables(x.shape[1], self.head_dim, device=x.device)
        for block in self.blocks:
            x = block(x, text, time, rotary, mask)
        return self.out(mindiesd.fast_layernorm(self.norm, x))
