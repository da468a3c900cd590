"""Attention as equations of axes: batch, place, head, channel in and out."""

import math

import mindiesd.ext
import torch


def scaled(q, k, v):
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        scale=q.shape[-1] ** -0.5,
        strides="BNSD",
    )


def other_letters(q, k, v, mask):
    return mindiesd.attention_forward(
        q,
        k,
        v,
        attn_mask=mask,
        scale=1 / math.sqrt(q.shape[-1]),
    ).contiguous()


def hidden_keys(q, k, v, hidden):
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        attn_mask=~hidden,
        scale=1.0,
        strides="BNSD",
    )


def both_are_scaled(q, k, v):
    scale = 1 / math.sqrt(math.sqrt(q.shape[-1]))
    return mindiesd.ext.attention_forward(q, k * scale, v, scale=scale, strides="BNSD")


def over_the_queries(q, k, v):
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k)
    return torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-2), v)


def over_the_heads(q, k, v):
    """The places of one batch are batches here, and attention is among the heads."""
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        scale=1.0,
        head_first=True,
        strides="BNSD",
    )


def heads_come_first(q, k, v):
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k)
    return torch.einsum("bhqk,bkhd->bhqd", scores.softmax(-1), v)


def channels_first(q, k, v, channels):
    scale = 1 / math.sqrt(math.sqrt(channels))
    return mindiesd.ext.attention_forward(
        q.transpose(-2, -1),
        k.transpose(-2, -1),
        v.transpose(-2, -1),
        scale=scale * scale,
        head_first=True,
    ).transpose(-2, -1).contiguous()


def weights_too(q, k, v):
    weights = torch.einsum("bqhd,bkhd->bhqk", q, k).softmax(-1)
    return torch.einsum("bhqk,bkhd->bqhd", weights, v), weights


def a_bias_in_one_product(q, k, v, bias):
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        attn_mask=bias,
        scale=0.25,
        head_first=True,
        strides="BNSD",
    )


def half_a_bias(q, k, v, bias):
    scores = torch.baddbmm(bias, q, k.transpose(1, 2), beta=0.5, alpha=0.25)
    return torch.bmm(scores.softmax(-1), v)
