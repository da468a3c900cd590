import flash_attn
import torch
from flash_attn import flash_attn_func


def plain(q, k, v):
    return flash_attn_func(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False)


def scaled(q, k, v, scale):
    x = flash_attn_func(q.half(), k.half(), v.half(), softmax_scale=scale)
    return x.to(q.dtype)


def positional(q, k, v, p, scale):
    return flash_attn_func(q, k, v, p, scale, False)


def causal(q, k, v):
    return flash_attn.flash_attn_func(q, k, v, causal=True)


def capped(q, k, v):
    return flash_attn_func(q, k, v, softcap=50.0)


def off(q, k, v):
    return flash_attn_func(
        q,
        k,
        v,
        window_size=(-1, -1),  # the whole sequence
        softcap=0.0,
        alibi_slopes=None,
        deterministic=False,
    )


def with_probabilities(q, k, v):
    out, lse, probabilities = flash_attn_func(q, k, v, return_attn_probs=True)
    return out, probabilities
