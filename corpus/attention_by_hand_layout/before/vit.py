"""Fused and written-out attention share their transposes: both calls lose them, or neither."""

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, heads=4, fused=True, drop=0.0):
        super().__init__()
        self.heads = heads
        self.head_dim = dim // heads
        self.scale = self.head_dim**-0.5
        self.fused = fused
        self.qkv = nn.Linear(dim, dim * 3)
        self.attn_drop = nn.Dropout(drop)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, c = x.shape
        qkv = self.qkv(x).reshape(b, n, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)

        if self.fused:
            x = F.scaled_dot_product_attention(
                q,
                k,
                v,
                dropout_p=self.attn_drop.p if self.training else 0.0,
            )
        else:
            q = q * self.scale
            attn = q @ k.transpose(-2, -1)
            attn = attn.softmax(dim=-1)
            attn = self.attn_drop(attn)
            x = attn @ v

        x = x.transpose(1, 2).reshape(b, n, c)
        return self.proj(x)


class Pooled(Attention):
    """One tensor is query, key and value."""

    def forward(self, x):
        b, n, c = x.shape
        x = x.reshape(b, n, self.heads, self.head_dim).transpose(1, 2)
        if self.fused:
            x = F.scaled_dot_product_attention(x, x, x)
        else:
            attn = (x * self.scale) @ x.transpose(-2, -1)
            attn = attn.softmax(dim=-1)
            x = attn @ x
        x = x.transpose(1, 2).reshape(b, n, c)
        return self.proj(x)


class Biased(Attention):
    """The bias is of the scores, which have no layout of their own."""

    def forward(self, x, bias):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, self.heads, -1).split([self.head_dim] * 3, dim=3)
        q = q.permute(0, 2, 1, 3)
        k = k.permute(0, 2, 1, 3)
        v = v.permute(0, 2, 1, 3)
        attn = (q @ k.transpose(-2, -1)) * self.scale + bias
        x = attn.softmax(dim=-1) @ v
        return self.proj(x.transpose(1, 2).reshape(b, n, c))


class Weights(Attention):
    """The weights are kept, so the written-out branch stays, and the other keeps its layout."""

    def forward(self, x):
        b, n, c = x.shape
        qkv = self.qkv(x).reshape(b, n, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        weights = None
        if self.fused:
            x = F.scaled_dot_product_attention(q, k, v)
        else:
            weights = (q * self.scale @ k.transpose(-2, -1)).softmax(dim=-1)
            x = weights @ v
        return self.proj(x.transpose(1, 2).reshape(b, n, c)), weights


class Shifted(Attention):
    """The value is read as it is behind the attention: the transposes stay for both."""

    def forward(self, x):
        b, n, c = x.shape
        qkv = self.qkv(x).reshape(b, n, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        if self.fused:
            x = F.scaled_dot_product_attention(q, k, v)
        else:
            attn = (q @ k.transpose(-2, -1)) * self.scale
            x = attn.softmax(dim=-1) @ v
        x = x + torch.roll(v, 1, 1)
        return self.proj(x.transpose(1, 2).reshape(b, n, c))


def heads_in_batch(q, k, v):
    """Three axes: there are none that could change places."""
    attn = torch.bmm(q, k.transpose(1, 2)) * 0.25
    return torch.bmm(attn.softmax(dim=-1), v).transpose(0, 1)


def turned(q, k, v):
    """Heads and tokens are exchanged for the values alone, so every layout stays."""
    b, n, h, d = q.shape
    q, k = q.transpose(1, 2), k.reshape(b, n, h, d).transpose(1, 2)
    v = v.reshape(b, h, n, d)
    x = ((q @ k.transpose(-2, -1)) * 0.5).softmax(dim=-1) @ v
    return x.transpose(1, 2).reshape(b, n, -1)
