from typing import Optional

import mindiesd.ext
import torch
from torch import nn


def maybe_add_mask(scores: torch.Tensor, attn_mask: Optional[torch.Tensor] = None):
    return scores if attn_mask is None else scores + attn_mask


class Masked(nn.Module):
    """A helper adds the mask, if there is one."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.scale = (dim // heads) ** -0.5
        self.qkv = nn.Linear(dim, dim * 3)
        self.attn_drop = nn.Dropout(0.1)

    def forward(self, x, attn_mask=None):
        b, n, c = x.shape
        qkv = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 1, 3, 4)
        q, k, v = qkv.unbind(0)
        return mindiesd.attention_forward(
            q,
            k,
            v,
            attn_mask=attn_mask,
            scale=self.scale,
        ).reshape(b, n, c)


class Turned(nn.Module):
    """The keys are turned where they are split off."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.scale = (dim // heads) ** -0.5
        self.qkv = nn.Linear(dim, dim * 3)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, self.heads, -1).chunk(3, dim=3)
        q = q.permute(0, 2, 1, 3)
        k = k.permute(0, 2, 3, 1)
        v = v.permute(0, 2, 1, 3)
        return mindiesd.attention_forward(
            q,
            k.transpose(-2, -1),
            v,
            scale=self.scale,
            head_first=True,
        ).transpose(1, 2).reshape(b, n, c)


def among_channels(q, k, v):
    return mindiesd.ext.attention_forward(
        q.transpose(-1, -2),
        k.transpose(-2, -1),
        v.transpose(-1, -2),
        scale=1.0,
        head_first=True,
        strides="BNSD",
    ).transpose(-1, -2)


def not_transposed(q, k, v):
    return mindiesd.ext.attention_forward(
        q,
        k.transpose(-2, -1),
        v,
        scale=1.0,
        head_first=True,
        strides="BNSD",
    )


def three_axes_of_four(q, k, v):
    """One key for all heads."""
    return mindiesd.ext.attention_forward(
        q,
        k.transpose(-2, -1),
        v,
        scale=1 / 4,
        head_first=True,
        strides="BNSD",
    )


def a_root_on_either_side(q, k, v):
    root = q.shape[-1] ** -0.25
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        scale=root * root,
        head_first=True,
        strides="BNSD",
    )


class Dropping(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def by_flag(self, q, k, v):
        return mindiesd.ext.attention_forward(
            q,
            k,
            v,
            scale=0.5,
            head_first=True,
            strides="BNSD",
        )

    def under_flag(self, q, k, v):
        return mindiesd.ext.attention_forward(
            q,
            k,
            v,
            scale=0.5,
            head_first=True,
            strides="BNSD",
        )

    def under_flag_by_default(self, q, k, v):
        return mindiesd.ext.attention_forward(
            q,
            k,
            v,
            scale=0.5,
            head_first=True,
            strides="BNSD",
        )


def reference(query, key, value, attn_bias, dropout_p=0.0):
    return mindiesd.ext.attention_forward(
        query,
        key,
        value,
        attn_mask=attn_bias,
        scale=0.5,
        head_first=True,
        strides="BNSD",
    )


def nothing_drops(q, k, v):
    return mindiesd.ext.attention_forward(q, k, v, scale=1.0, head_first=True, strides="BNSD")


def really_drops(q, k, v):
    attn = torch.dropout((q @ k.transpose(-2, -1)).softmax(-1), 0.1, True)
    return attn @ v


def drops_only_outside_training(self, q, k, v):
    attn = (q @ k.transpose(-2, -1)).softmax(-1)
    if not self.training:
        attn = torch.dropout(attn, 0.1, train=True)
    return attn @ v
