import mindiesd.ext
import torch
import torch.nn as nn


class Block(nn.Module):
    """A block of a text encoder, positions first."""

    def __init__(self, width, heads, attn_mask=None):
        super().__init__()
        self.attn = mindiesd.ext.MultiheadAttention(width, heads)
        self.ln_1 = nn.LayerNorm(width)
        self.attn_mask = attn_mask

    def attention(self, x):
        mask = self.attn_mask.to(dtype=x.dtype, device=x.device) if self.attn_mask is not None else None
        return self.attn(x, x, x, need_weights=False, attn_mask=mask)[0]

    def forward(self, x):
        return x + self.attention(mindiesd.fast_layernorm(self.ln_1, x))


class Pool(nn.Module):
    """Learned queries read the tokens, whose width is another."""

    def __init__(self, width, context, heads):
        super().__init__()
        self.query = nn.Parameter(torch.randn(3, width))
        self.attn = mindiesd.ext.MultiheadAttention(
            width,
            heads,
            kdim=context,
            vdim=context,
            batch_first=True,
            bias=False,
        )

    def forward(self, x):
        query = self.query.unsqueeze(0).expand(x.shape[0], -1, -1)
        return mindiesd.ext.multihead_attention(self.attn, query, x, x)
