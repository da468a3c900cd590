"""One function under two of its names, and functions that differ between two versions of a library."""

import torch
from torch import nn

try:  # version 1
    from flash_attn.flash_attn_interface import flash_attn_unpadded_qkvpacked_func
except ImportError:  # version 2
    from flash_attn.flash_attn_interface import flash_attn_varlen_qkvpacked_func as flash_attn_unpadded_qkvpacked_func

try:
    from flash_attn import flash_attn_func
except ImportError:
    from flash_attn.flash_attn_interface import flash_attn_func

try:
    from flash_attn.flash_attn_interface import flash_attn_unpadded_func as packed
except ImportError:
    from flash_attn.flash_attn_interface import flash_attn_varlen_func as packed


class PackedAttention(nn.Module):
    def __init__(self, softmax_scale=None):
        super().__init__()
        self.softmax_scale = softmax_scale

    def forward(self, qkv, lengths, longest, causal=False):
        assert qkv.dtype in (torch.float16, torch.bfloat16)
        return flash_attn_unpadded_qkvpacked_func(
            qkv, lengths, longest, 0.0, softmax_scale=self.softmax_scale, causal=causal
        )


def dense(q, k, v):
    return flash_attn_func(q, k, v, causal=True)


def packed_in_two_lengths(q, k, v, of_q, of_k, most_q, most_k):
    return packed(q, k, v, of_q, of_k, most_q, most_k, 0.0, causal=True)
