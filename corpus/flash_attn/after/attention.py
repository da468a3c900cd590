import mindiesd.ext
import torch
from flash_attn import flash_attn_func


def plain(q, k, v):
    return mindiesd.attention_forward(q, k, v)


def scaled(q, k, v, scale):
    x = mindiesd.attention_forward(q.half(), k.half(), v.half(), scale=scale)
    return x.to(q.dtype)


def positional(q, k, v, p, scale):
    return mindiesd.attention_forward(q, k, v, scale=scale)


def causal(q, k, v):
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        is_causal=True,
        causal_alignment="bottom_right",
    )


def capped(q, k, v):
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        softcap=50.0,
        causal_alignment="bottom_right",
    )


def off(q, k, v):
    return mindiesd.attention_forward(
        q,
        k,
        v,
        # the whole sequence
    )


def with_probabilities(q, k, v):
    out, lse, probabilities = flash_attn_func(q, k, v, return_attn_probs=True)
    return out, probabilities
