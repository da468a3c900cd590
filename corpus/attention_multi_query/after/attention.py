"""One head of keys and values that all heads of the queries share, by equations."""

import mindiesd.ext
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

        if exists(mask):
            mask = F.pad(mask, (1, 0), value=True)
            mask = rearrange(mask, "b j -> b 1 1 j")

        out = mindiesd.ext.attention_forward(
            q,
            k.unsqueeze(1),
            v.unsqueeze(1),
            attn_mask=mask,
            scale=self.scale,
            without_key="mean",
            head_first=True,
            strides="BNSD",
        )
        return rearrange(out, "b h n d -> b n (h d)")


def viewed(q, k, v):
    out = mindiesd.ext.attention_forward(
        q,
        k.unsqueeze(1),
        v.unsqueeze(1),
        scale=0.25,
        head_first=True,
        strides="BNSD",
    )
    return out.view(out.shape[0], -1)


def biased(q, k, v, bias):
    return mindiesd.ext.attention_forward(
        q,
        k.unsqueeze(1),
        v.unsqueeze(1),
        attn_mask=bias,
        scale=1 / 4,
        head_first=True,
        strides="BNSD",
    )


def of_any_rank(q, k, v):
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        scale=0.25,
        head_first=True,
        strides="BNSD",
    )


def values_of_each_head(q, k, v):
    sim = einsum("b h i d, b j d -> b h i j", q, k)
    return einsum("b h i j, b h j d -> b h i d", sim.softmax(dim=-1), v)


def over_the_heads(q, k, v):
    sim = einsum("b h i d, b j d -> b h i j", q, k)
    return einsum("b h i j, b j d -> b h i d", sim.softmax(dim=1), v)
