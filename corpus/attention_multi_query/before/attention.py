"""One head of keys and values that all heads of the queries share, by equations."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import rearrange
from torch import einsum


def exists(value):
    return value is not None


class Attention(nn.Module):
    def __init__(self, dim, heads, dim_head):
        super().__init__()
        self.heads = heads
        self.scale = dim_head**-0.5
        self.to_q = nn.Linear(dim, heads * dim_head, bias=False)
        self.to_kv = nn.Linear(dim, dim_head * 2, bias=False)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x, mask=None):
        q, k, v = self.to_q(x), *self.to_kv(x).chunk(2, dim=-1)
        q = rearrange(q, "b n (h d) -> b h n d", h=self.heads)
        q = q * self.scale

        sim = einsum("b h i d, b j d -> b h i j", q, k)

        max_neg_value = -torch.finfo(sim.dtype).max

        if exists(mask):
            mask = F.pad(mask, (1, 0), value=True)
            mask = rearrange(mask, "b j -> b 1 1 j")
            sim = sim.masked_fill(~mask, max_neg_value)

        attn = sim.softmax(dim=-1, dtype=torch.float32)
        attn = attn.to(sim.dtype)
        attn = self.dropout(attn)

        out = einsum("b h i j, b j d -> b h i d", attn, v)
        return rearrange(out, "b h n d -> b n (h d)")


def viewed(q, k, v):
    sim = einsum("b h i d, b j d -> b h i j", q, k) * 0.25
    out = einsum("b h i j, b j d -> b h i d", sim.softmax(dim=-1), v)
    return out.view(out.shape[0], -1)


def biased(q, k, v, bias):
    sim = einsum("b h i d, b j d -> b h i j", q, k) / 4
    sim = sim + bias
    return einsum("b h i j, b j d -> b h i d", sim.softmax(dim=-1), v)


def of_any_rank(q, k, v):
    sim = einsum("... i d, ... j d -> ... i j", q, k) * 0.25
    return einsum("... i j, ... j d -> ... i d", sim.softmax(dim=-1), v)


def values_of_each_head(q, k, v):
    sim = einsum("b h i d, b j d -> b h i j", q, k)
    return einsum("b h i j, b h j d -> b h i d", sim.softmax(dim=-1), v)


def over_the_heads(q, k, v):
    sim = einsum("b h i d, b j d -> b h i j", q, k)
    return einsum("b h i j, b j d -> b h i d", sim.softmax(dim=1), v)
