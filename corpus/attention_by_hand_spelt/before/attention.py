from typing import Optional

import torch
import torch.nn.functional as F
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
        qkv = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        q = q * self.scale
        attn = q @ k.transpose(-2, -1)
        attn = maybe_add_mask(attn, attn_mask)
        attn = attn.softmax(dim=-1)
        attn = self.attn_drop(attn)
        return (attn @ v).transpose(1, 2).reshape(b, n, c)


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
        attn = q @ k * self.scale
        attn = attn.softmax(dim=-1)
        return (attn @ v).transpose(1, 2).reshape(b, n, c)


def among_channels(q, k, v):
    attn = q.transpose(-1, -2) @ k
    attn = attn.softmax(dim=-1)
    return (attn @ v.transpose(-1, -2)).transpose(-1, -2)


def not_transposed(q, k, v):
    return (q @ k).softmax(dim=-1) @ v


def three_axes_of_four(q, k, v):
    """One key for all heads."""
    return (q @ k / 4).softmax(dim=-1) @ v


def a_root_on_either_side(q, k, v):
    root = q.shape[-1] ** -0.25
    return torch.matmul(torch.matmul(q * root, k.transpose(-1, -2) * root).softmax(-1), v)


class Dropping(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def by_flag(self, q, k, v):
        attn = (q @ k.transpose(-2, -1) * 0.5).softmax(-1)
        attn = torch.dropout(attn, self.p, train=self.training)
        return attn @ v

    def under_flag(self, q, k, v):
        attn = (q @ k.transpose(-2, -1) * 0.5).softmax(-1)
        if self.training:
            attn = torch.dropout(attn, self.p, train=True)
        return attn @ v

    def under_flag_by_default(self, q, k, v):
        attn = (q @ k.transpose(-2, -1) * 0.5).softmax(-1)
        if self.training:
            attn = F.dropout(attn, self.p)
        return attn @ v


def reference(query, key, value, attn_bias, dropout_p=0.0):
    attn_weight = query @ key.transpose(-2, -1) * 0.5 + attn_bias
    attn_weight = torch.softmax(attn_weight, dim=-1)
    attn_weight = torch.dropout(attn_weight, dropout_p, train=True)
    return attn_weight @ value


def nothing_drops(q, k, v):
    attn = F.dropout((q @ k.transpose(-2, -1)).softmax(-1), 0.0)
    return attn @ v


def really_drops(q, k, v):
    attn = torch.dropout((q @ k.transpose(-2, -1)).softmax(-1), 0.1, True)
    return attn @ v


def drops_only_outside_training(self, q, k, v):
    attn = (q @ k.transpose(-2, -1)).softmax(-1)
    if not self.training:
        attn = torch.dropout(attn, 0.1, train=True)
    return attn @ v
