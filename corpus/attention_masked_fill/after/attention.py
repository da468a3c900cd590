"""Scores that a mask fills: with minus infinity, or with a finite number that makes a row of it the mean."""

import math

import mindiesd.ext
import torch
from einops import rearrange
from torch import nn


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
        q, k, v = (rearrange(t, "b n (h d) -> b n h d", h=self.heads) for t in qkv)

        if exists(mask):
            mask = rearrange(mask, "b j -> b 1 1 j")

        out = mindiesd.ext.attention_forward(q, k, v, attn_mask=mask, scale=self.scale, without_key="mean")
        return rearrange(out, "b n h d -> b n (h d)")


def by_a_helper(q, k, v, mask=None):
    if mask is not None:
        mask = mask[:, None, None, :]
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        attn_mask=mask,
        scale=0.25,
        without_key="mean",
        head_first=True,
        strides="BNSD",
    )


def given_whole(q, k, v, attn_mask=None):
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        attn_mask=attn_mask,
        scale=1 / math.sqrt(q.shape[-1]),
        without_key="mean",
        head_first=True,
        strides="BNSD",
    )


def zeros_hide(q, k, v, mask):
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        attn_mask=~(mask == 0),
        scale=0.25,
        without_key="mean",
        head_first=True,
        strides="BNSD",
    )


def by_infinity(q, k, v, mask=None):
    if mask is not None:
        mask = mask.unsqueeze(1)
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        attn_mask=None if mask is None else ~mask.logical_not(),
        scale=0.25,
        head_first=True,
        strides="BNSD",
    )


class Causal(nn.Module):
    def __init__(self, size, causal):
        super().__init__()
        self.causal = bool(causal)
        self.register_buffer("later", torch.ones(size, size, dtype=torch.bool).triu(1))

    def forward(self, q, k, v):
        return mindiesd.ext.attention_forward(
            q,
            k,
            v,
            attn_mask=~self.later if self.causal else None,
            scale=0.25,
            head_first=True,
            strides="BNSD",
        )


def made_on_the_branch(q, k, v, lengths=None):
    if lengths is not None:
        keep = torch.arange(k.shape[-2]) < lengths[:, None, None, None]
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        attn_mask=None if lengths is None else keep,
        scale=0.25,
        without_key="mean",
        head_first=True,
        strides="BNSD",
    )


def another_name_is_kept(q, k, v, mask=None):
    """What hides is the mask as it was given, not as the branch leaves it."""
    if mask is not None:
        given = mask
        mask = ~mask
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        attn_mask=None if mask is None else ~given,
        scale=0.25,
        head_first=True,
        strides="BNSD",
    ), mask


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
