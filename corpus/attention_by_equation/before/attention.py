"""Attention as equations of axes: batch, place, head, channel in and out."""

import math

import torch
import torch.nn.functional as F


def scaled(q, k, v):
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5
    weights = scores.softmax(dim=-1)
    return torch.einsum("bhqk,bkhd->bqhd", weights, v)


def other_letters(q, k, v, mask):
    scores = torch.einsum("b l h e, b s h e -> b h l s", q / math.sqrt(q.shape[-1]), k)
    scores = scores + mask
    weights = F.softmax(scores.float(), dim=-1).to(v.dtype)
    return torch.einsum("b h l s, b s h d -> b l h d", weights, v).contiguous()


def hidden_keys(q, k, v, hidden):
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k)
    scores = scores.masked_fill(hidden, float("-inf"))
    return torch.einsum("bhqk,bkhd->bqhd", torch.softmax(scores, -1), v)


def both_are_scaled(q, k, v):
    scale = 1 / math.sqrt(math.sqrt(q.shape[-1]))
    scores = torch.einsum("bqhd,bkhd->bhqk", q * scale, k * scale)
    return torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v)


def over_the_queries(q, k, v):
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k)
    return torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-2), v)


def over_the_heads(q, k, v):
    """The places of one batch are batches here, and attention is among the heads."""
    scores = torch.einsum("bqhd,bqgd->bqhg", q, k)
    return torch.einsum("bqhg,bqgd->bqhd", scores.softmax(-1), v)


def heads_come_first(q, k, v):
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k)
    return torch.einsum("bhqk,bkhd->bhqd", scores.softmax(-1), v)


def channels_first(q, k, v, channels):
    scale = 1 / math.sqrt(math.sqrt(channels))
    weights = torch.einsum("bct,bcs->bts", q * scale, k * scale)
    weights = torch.softmax(weights.float(), dim=-1).type(weights.dtype)
    return torch.einsum("bts,bcs->bct", weights, v)


def weights_too(q, k, v):
    weights = torch.einsum("bqhd,bkhd->bhqk", q, k).softmax(-1)
    return torch.einsum("bhqk,bkhd->bqhd", weights, v), weights


def a_bias_in_one_product(q, k, v, bias):
    scores = torch.baddbmm(bias, q, k.transpose(1, 2), beta=1, alpha=0.25)
    return torch.bmm(scores.softmax(-1), v)


def half_a_bias(q, k, v, bias):
    scores = torch.baddbmm(bias, q, k.transpose(1, 2), beta=0.5, alpha=0.25)
    return torch.bmm(scores.softmax(-1), v)
