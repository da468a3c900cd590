"""Attention by block masks, which torch's flex_attention alone reads. Entry points: ``is_block_mask``,
``flex_attention``."""

from .._checks import expect_tensor, number


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
