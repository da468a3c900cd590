"""Fused and written-out attention share their transposes: both calls lose them, or neither."""

import mindiesd.ext
import torch
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
        qkv = self.qkv(x).reshape(b, n, 3, self.heads, self.head_dim).permute(2, 0, 1, 3, 4)
        q, k, v = qkv.unbind(0)

        if self.fused:
            x = mindiesd.attention_forward(
                q,
                k,
                v,
            )
        else:
            x = mindiesd.attention_forward(q, k, v, scale=self.scale)

        x = x.reshape(b, n, c)
        return self.proj(x)


class Pooled(Attention):
    """One tensor is query, key and value."""

    def forward(self, x):
        b, n, c = x.shape
        x = x.reshape(b, n, self.heads, self.head_dim)
        if self.fused:
            x = mindiesd.attention_forward(x, x, x)
        else:
            x = mindiesd.attention_forward(x, x, x, scale=self.scale)
        x = x.reshape(b, n, c)
        return self.proj(x)


class Biased(Attention):
    """The bias is of the scores, which have no layout of their own."""

    def forward(self, x, bias):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, self.heads, -1).split([self.head_dim] * 3, dim=3)
        x = mindiesd.attention_forward(q, k, v, attn_mask=bias, scale=self.scale)
        return self.proj(x.reshape(b, n, c))


class Weights(Attention):
    """The weights are kept, so the written-out branch stays, and the other keeps its layout."""

    def forward(self, x):
        b, n, c = x.shape
        qkv = self.qkv(x).reshape(b, n, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        weights = None
        if self.fused:
            x = mindiesd.attention_forward(q, k, v, head_first=True)
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
            x = mindiesd.attention_forward(q, k, v, head_first=True)
        else:
            x = mindiesd.attention_forward(q, k, v, scale=self.scale, head_first=True)
        x = x + torch.roll(v, 1, 1)
        return self.proj(x.transpose(1, 2).reshape(b, n, c))


def heads_in_batch(q, k, v):
    """Three axes: there are none that could change places."""
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        scale=0.25,
        head_first=True,
        strides="BNSD",
    ).transpose(0, 1)


def turned(q, k, v):
    """Heads and tokens are exchanged for the values alone, so every layout stays."""
    b, n, h, d = q.shape
    q, k = q.transpose(1, 2), k.reshape(b, n, h, d).transpose(1, 2)
    v = v.reshape(b, h, n, d)
    x = mindiesd.ext.attention_forward(q, k, v, scale=0.5, head_first=True, strides="BNSD")
    return x.transpose(1, 2).reshape(b, n, -1)
