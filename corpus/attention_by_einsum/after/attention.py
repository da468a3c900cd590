import math

import mindiesd.ext
import torch
from einops import rearrange
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.scale = (width // heads) ** -0.5
        self.heads = heads
        self.to_q = nn.Linear(width, width, bias=False)
        self.to_k = nn.Linear(width, width, bias=False)
        self.to_v = nn.Linear(width, width, bias=False)

    def forward(self, x, context):
        h = self.heads
        q, k, v = self.to_q(x), self.to_k(context), self.to_v(context)
        q = rearrange(q, "b n (h d) -> (b h) n d", h=h)
        k = rearrange(k, "b n (h d) -> (b h) n d", h=h)
        v = rearrange(v, "b n (h d) -> (b h) n d", h=h)
        out = mindiesd.ext.attention_forward(q, k, v, scale=self.scale, head_first=True)
        return rearrange(out, "(b h) n d -> b n (h d)", h=h)


def heads(q, k, v):
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        scale=1 / math.sqrt(q.size(-1)),
        head_first=True,
        strides="BNSD",
    )


def hidden(q, k, v, keep):
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        attn_mask=~(keep == 0),
        scale=0.125,
        head_first=True,
        strides="BNSD",
    )


def hidden_by_infinity(q, k, v, away):
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        attn_mask=~away,
        scale=0.125,
        head_first=True,
        strides="BNSD",
    )


def bias_first(q, k, v, bias):
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        attn_mask=bias,
        scale=0.125,
        head_first=True,
        strides="BNSD",
    )


def sequence_first(q, k, v):
    """The scores are transposed by the equation."""
    return mindiesd.ext.attention_forward(q, k, v, scale=1.0, strides="BNSD")


def other_axes(q, k, v):
    """No attention: the scores are summed over the keys' width and joined the other way round."""
    weights = torch.einsum("bij,bkj->bki", q, k).softmax(-1)
    return torch.einsum("bki,bid->bkd", weights, v)
