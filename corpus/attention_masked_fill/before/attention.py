"""Scores that a mask fills: with minus infinity, or with a finite number that makes a row of it the mean."""

import math

import torch
from einops import rearrange
from torch import einsum, nn


def exists(value):
    return value is not None


def lowest_of(t):
    return -torch.finfo(t.dtype).max


class Padding(nn.Module):
    """The mask is shaped on the branch that uses it."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.scale = (dim // heads) ** -0.5
        self.attend = nn.Softmax(dim=-1)
        self.to_qkv = nn.Linear(dim, dim * 3, bias=False)

    def forward(self, x, mask=None):
        qkv = self.to_qkv(x).chunk(3, dim=-1)
        q, k, v = (rearrange(t, "b n (h d) -> b h n d", h=self.heads) for t in qkv)

        dots = torch.matmul(q, k.transpose(-1, -2)) * self.scale

        if exists(mask):
            mask = rearrange(mask, "b j -> b 1 1 j")
            mask_value = -torch.finfo(dots.dtype).max
            dots = dots.masked_fill(~mask, mask_value)

        attn = self.attend(dots)

        out = torch.matmul(attn, v)
        return rearrange(out, "b h n d -> b n (h d)")


def by_a_helper(q, k, v, mask=None):
    sim = einsum("b h i d, b h j d -> b h i j", q, k) * 0.25
    if mask is not None:
        mask = mask[:, None, None, :]
        sim = sim.masked_fill(~mask, lowest_of(sim))
    attn = sim.softmax(dim=-1)
    return einsum("b h i j, b h j d -> b h i d", attn, v)


def given_whole(q, k, v, attn_mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, torch.finfo(scores.dtype).min)
    return scores.softmax(dim=-1) @ v


def zeros_hide(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) * 0.25
    scores = scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min)
    return torch.softmax(scores, dim=-1) @ v


def by_infinity(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) * 0.25
    if mask is not None:
        mask = mask.unsqueeze(1)
        scores = scores.masked_fill(mask.logical_not(), -math.inf)
    return scores.softmax(dim=-1) @ v


class Causal(nn.Module):
    def __init__(self, size, causal):
        super().__init__()
        self.causal = bool(causal)
        self.register_buffer("later", torch.ones(size, size, dtype=torch.bool).triu(1))

    def forward(self, q, k, v):
        scores = q @ k.transpose(-2, -1) * 0.25
        if self.causal:
            scores = scores.masked_fill(self.later, float("-inf"))
        return scores.softmax(dim=-1) @ v


def made_on_the_branch(q, k, v, lengths=None):
    scores = q @ k.transpose(-2, -1) * 0.25
    if lengths is not None:
        keep = torch.arange(k.shape[-2]) < lengths[:, None, None, None]
        scores = scores.masked_fill(~keep, torch.finfo(scores.dtype).min)
    return scores.softmax(dim=-1) @ v


def another_name_is_kept(q, k, v, mask=None):
    """What hides is the mask as it was given, not as the branch leaves it."""
    scores = q @ k.transpose(-2, -1) * 0.25
    if mask is not None:
        given = mask
        mask = ~mask
        scores = scores.masked_fill(given, float("-inf"))
    return scores.softmax(dim=-1) @ v, mask


def rebound_behind(q, k, v, mask=None):
    """The mask's name means something else where the product with the values stands."""
    scores = q @ k.transpose(-2, -1) * 0.25
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    mask = v > 0
    return scores.softmax(dim=-1) @ v * mask


def twice(q, k, v, mask, causal):
    """Two masks, each on a branch of its own: one call takes one."""
    scores = q @ k.transpose(-2, -1) * 0.25
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    if causal is not None:
        scores = scores.masked_fill(~causal, float("-inf"))
    return scores.softmax(dim=-1) @ v


def read_too(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) * 0.25
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return scores.softmax(dim=-1) @ v, scores
