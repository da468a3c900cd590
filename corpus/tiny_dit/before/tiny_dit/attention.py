"""Self-attention with rotary positions and cross-attention to the prompt."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from .layers import RMSNorm
from .rope import apply_rotary


class SelfAttention(nn.Module):
    def __init__(self, width: int, heads: int, eps: float = 1e-6):
        super().__init__()
        self.heads = heads
        self.head_dim = width // heads
        self.to_q = nn.Linear(width, width)
        self.to_k = nn.Linear(width, width)
        self.to_v = nn.Linear(width, width)
        self.to_out = nn.Linear(width, width)
        self.norm_q = RMSNorm(self.head_dim, eps)
        self.norm_k = RMSNorm(self.head_dim, eps)

    def forward(self, x: torch.Tensor, rotary, mask: torch.Tensor | None = None) -> torch.Tensor:
        batch, length, width = x.shape
        q = self.norm_q(self.to_q(x).view(batch, length, self.heads, self.head_dim))
        k = self.norm_k(self.to_k(x).view(batch, length, self.heads, self.head_dim))
        q = apply_rotary(q, *rotary)
        k = apply_rotary(k, *rotary)

        q = q.reshape(batch, length, self.heads, self.head_dim).transpose(1, 2)
        k = k.reshape(batch, length, self.heads, self.head_dim).transpose(1, 2)
        v = self.to_v(x).view(batch, length, self.heads, self.head_dim).transpose(1, 2)
        x = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=0.0)
        x = x.transpose(1, 2).reshape(batch, length, width)
        return self.to_out(x)


class CrossAttention(nn.Module):
    """Attention to the prompt, written out because the scores are clamped."""

    def __init__(self, width: int, text_width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.to_q = nn.Linear(width, width)
        self.to_kv = nn.Linear(text_width, 2 * width)
        self.to_out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q = self.to_q(x).view(batch, length, self.heads, -1).transpose(1, 2)
        k, v = self.to_kv(text).view(batch, -1, 2, self.heads, width // self.heads).unbind(2)
        scores = q @ k.permute(0, 2, 3, 1) * (width // self.heads) ** -0.5
        scores = torch.clamp(scores, min=-50000)  # keeps half precision finite
        scores = torch.clamp(scores, max=50000)
        weight = scores.softmax(dim=-1)
        x = weight @ v.transpose(1, 2)
        return self.to_out(x.transpose(1, 2).reshape(batch, length, width))
