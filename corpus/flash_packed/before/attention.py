import torch
from einops import rearrange
from flash_attn import flash_attn_kvpacked_func, flash_attn_qkvpacked_func
from flash_attn.flash_attn_interface import flash_attn_varlen_qkvpacked_func


def self_attention(x, heads):
    qkv = rearrange(x, "b s (three h d) -> b s three h d", three=3, h=heads)
    out = flash_attn_qkvpacked_func(qkv, dropout_p=0.0, softmax_scale=None, causal=False)
    return rearrange(out, "b s h d -> b s (h d)")


def causal(self, qkv):
    return flash_attn_qkvpacked_func(qkv, self.dropout if self.training else 0.0, causal=True)


def cross_attention(q, kv, scale):
    return flash_attn_kvpacked_func(q, kv, softmax_scale=scale)


def packed_in_place(q, k, v):
    return flash_attn_qkvpacked_func(torch.stack([q, k, v], dim=2))


def sequences(qkv, cu_seqlens, longest, p):
    return flash_attn_varlen_qkvpacked_func(qkv, cu_seqlens, longest, p)


def probabilities(q, kv):
    out, lse, probs = flash_attn_kvpacked_func(q, kv, return_attn_probs=True)
    return out, probs
