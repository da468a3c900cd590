import math

import torch
from einops import rearrange
from torch import einsum, nn


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
        sim = einsum("b i d, b j d -> b i j", q, k) * self.scale
        attn = sim.softmax(dim=-1)
        out = einsum("b i j, b j d -> b i d", attn, v)
        return rearrange(out, "(b h) n d -> b n (h d)", h=h)


def heads(q, k, v):
    scores = torch.einsum("nhlc,nhsc->nhls", q, k) / math.sqrt(q.size(-1))
    return torch.einsum("nhls,nhsc->nhlc", scores.softmax(-1), v)


def hidden(q, k, v, keep):
    scores = q @ k.mT * 0.125
    scores = scores.masked_fill(keep == 0, float("-inf"))
    return scores.softmax(dim=-1) @ v


def hidden_by_infinity(q, k, v, away):
    scores = (q @ k.mT * 0.125).masked_fill(away, -torch.inf)
    return scores.softmax(dim=-1) @ v


def bias_first(q, k, v, bias):
    return (bias + q @ k.mT * 0.125).softmax(-1) @ v


def sequence_first(q, k, v):
    """The scores are transposed by the equation."""
    weights = torch.einsum("bqhd,bkhd->bhqk", q, k).softmax(-1)
    return torch.einsum("bhqk,bkhd->bqhd", weights, v)


def other_axes(q, k, v):
    """No attention: the scores are summed over the keys' width and joined the other way round."""
    weights = torch.einsum("bij,bkj->bki", q, k).softmax(-1)
    return torch.einsum("bki,bid->bkd", weights, v)
