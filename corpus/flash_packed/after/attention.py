import mindiesd.ext
import torch
from einops import rearrange
from flash_attn import flash_attn_kvpacked_func, flash_attn_qkvpacked_func


def self_attention(x, heads):
    qkv = rearrange(x, "b s (three h d) -> b s three h d", three=3, h=heads)
    out = mindiesd.attention_forward(qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2])
    return rearrange(out, "b s h d -> b s (h d)")


def causal(self, qkv):
    return mindiesd.ext.attention_forward(
        qkv[:, :, 0],
        qkv[:, :, 1],
        qkv[:, :, 2],
        is_causal=True,
        causal_alignment="bottom_right",
    )


def cross_attention(q, kv, scale):
    return mindiesd.attention_forward(q, kv[:, :, 0], kv[:, :, 1], scale=scale)


def packed_in_place(q, k, v):
    return flash_attn_qkvpacked_func(torch.stack([q, k, v], dim=2))


def sequences(qkv, cu_seqlens, longest, p):
    return mindiesd.attention_forward_varlen(
        qkv[:, 0],
        qkv[:, 1],
        qkv[:, 2],
        cu_seqlens,
        cu_seqlens,
    )


def probabilities(q, kv):
    out, lse, probs = flash_attn_kvpacked_func(q, kv, return_attn_probs=True)
    return out, probs
