"""The name of flash-attn 1, whichever of the two is installed."""

import mindiesd

try:
    from flash_attn.flash_attn_interface import flash_attn_unpadded_qkvpacked_func
except ImportError:
    from flash_attn.flash_attn_interface import (
        flash_attn_varlen_qkvpacked_func as flash_attn_unpadded_qkvpacked_func,
    )


def attention(qkv, offsets, longest, scale):
    return mindiesd.attention_forward_varlen(
        qkv[:, 0],
        qkv[:, 1],
        qkv[:, 2],
        offsets,
        offsets,
        softmax_scale=scale,
        causal=True,
    )


def with_probabilities(qkv, offsets, longest, scale):
    return flash_attn_unpadded_qkvpacked_func(qkv, offsets, longest, 0.0, scale, True, True)
