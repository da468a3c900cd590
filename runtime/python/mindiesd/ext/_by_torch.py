"""Attention that torch's own functions alone compute: block masks, which flex_attention reads, and nested
tensors. Entry points: ``is_block_mask``, ``flex_attention``, ``nested_attention``."""

import torch

from .._checks import expect_tensor, flag, number


def is_block_mask(mask):
    """By its name: torch has the class since 2.5, and importing it costs."""
    return type(mask).__module__ == "torch.nn.attention.flex_attention"


def flex_attention(query, key, value, block_mask, scale, head_first, by_heads):
    """torch's own function, for the masks that only it reads."""
    from torch.nn.attention.flex_attention import flex_attention as attend

    for name, operand in (("query", query), ("key", key), ("value", value)):
        expect_tensor(name, operand)
    if not head_first:
        query, key, value = (t.transpose(1, 2) for t in (query, key, value))
    result = attend(
        query, key, value, block_mask=block_mask,
        scale=None if scale is None else number("scale", scale),
        enable_gqa=query.shape[1] != key.shape[1],
    )  # fmt: skip
    if by_heads:
        result = result.contiguous()
        return result if head_first else result.transpose(1, 2)
    return result if head_first else result.transpose(1, 2).contiguous()


def nested_attention(query, key, value, attn_mask, scale, head_first, is_causal):
    """torch's scaled_dot_product_attention, which knows nested tensors: there is no kernel for them here."""
    if not head_first:
        query, key, value = (t.transpose(1, 2) for t in (query, key, value))
    result = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask, is_causal=flag("is_causal", is_causal),
        scale=None if scale is None else number("scale", scale),
    )  # fmt: skip
    return result if head_first else result.transpose(1, 2)
