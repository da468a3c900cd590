"""Masks that a helper of another file adds, or that are added where the scores lie."""

import torch
import torch.nn as nn

from .masks import add_and_count, hide, maybe_add_mask, with_bias


class Pool(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.head_dim = dim // heads
        self.scale = self.head_dim**-0.5
        self.qkv = nn.Linear(dim, dim * 3)

    def forward(self, x, attn_mask=None):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4).unbind(0)
        q = q * self.scale
        attn = q @ k.transpose(-2, -1)
        attn = maybe_add_mask(attn, attn_mask)
        attn = attn.softmax(dim=-1)
        x = attn @ v
        return x.transpose(1, 2).reshape(b, n, c)


def biased(q, k, v, bias):
    attn = with_bias((q @ k.transpose(-2, -1)) * 0.25, bias)
    return attn.softmax(dim=-1) @ v


def hidden(q, k, v, keep):
    attn = hide(q @ k.transpose(-2, -1) * 0.25, keep)
    return attn.softmax(dim=-1) @ v


def counts(q, k, v, mask):
    """What decorates the helper does more than give it back."""
    attn = add_and_count(q @ k.transpose(-2, -1) * 0.25, mask)
    return attn.softmax(dim=-1) @ v


def in_place(q, k, v, mask):
    attn = q @ k.transpose(-2, -1) * 0.25
    attn += mask
    attn = attn.softmax(dim=-1)
    return attn @ v


def in_place_twice(q, k, v, mask=None):
    attn = q @ k.transpose(-2, -1)
    attn *= 0.25
    if mask is not None:
        attn += mask
    return attn.softmax(dim=-1) @ v


def in_place_and_read(q, k, v, mask):
    """The scores are read by another name, which sees the mask, too."""
    attn = q @ k.transpose(-2, -1) * 0.25
    scores = attn
    attn += mask
    return attn.softmax(dim=-1) @ v, scores


def in_place_and_viewed(q, k, v, mask):
    attn = q @ k.transpose(-2, -1) * 0.25
    first = attn[:, :1]
    attn += mask
    return attn.softmax(dim=-1) @ v, first


def written_where_given(scores, v, mask, q, k):
    """The caller sees what is added to its queries."""
    q *= 0.25
    return (q @ k.transpose(-2, -1)).softmax(dim=-1) @ v


def kept(q, k, v, mask, seen):
    """Another object holds the scores when the mask is added to them."""
    attn = q @ k.transpose(-2, -1) * 0.25
    seen.append(attn)
    attn += mask
    return attn.softmax(dim=-1) @ v


def filled_in_place(q, k, v, keep=None):
    sim = q @ k.transpose(-2, -1) * 0.25
    if keep is not None:
        max_neg_value = -torch.finfo(sim.dtype).max
        keep = keep[:, :1]
        sim.masked_fill_(~keep, max_neg_value)
    return sim.softmax(dim=-1) @ v


def filled_and_named(q, k, v, hidden):
    scores = torch.matmul(q, k.transpose(-2, -1)) * 0.25
    scores = scores.masked_fill_(hidden, torch.finfo(scores.dtype).min)
    return torch.softmax(scores, dim=-1) @ v


def filled_and_read(q, k, v, hidden):
    scores = torch.matmul(q, k.transpose(-2, -1)) * 0.25
    largest = scores.amax(dim=-1, keepdim=True)
    scores.masked_fill_(hidden, torch.finfo(scores.dtype).min)
    return torch.softmax(scores, dim=-1) @ v + largest


def filled_by_another_name(q, k, v, hidden):
    scores = torch.matmul(q, k.transpose(-2, -1)) * 0.25
    same = scores
    same.masked_fill_(hidden, torch.finfo(scores.dtype).min)
    return torch.softmax(scores, dim=-1) @ v


def filled_where_given(scores, v, hidden):
    """The caller sees what is filled into its scores."""
    scores.masked_fill_(hidden, torch.finfo(scores.dtype).min)
    return torch.softmax(scores, dim=-1) @ v
