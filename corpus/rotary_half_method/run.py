import rope
import torch


def outputs():
    cos, sin = torch.randn(9, 8), torch.randn(9, 8)
    positions = torch.arange(5).expand(2, 5)
    tokens = torch.randn(2, 3, 5, 8)
    return [
        rope.RoPE1D().apply_rope1d(tokens, positions, cos, sin),
        rope.Attention().rotate(tokens, cos[:5], sin[:5]),
        rope.Base().rotate(tokens, cos[:5], sin[:5]),
        rope.Other().rotate(tokens, cos[:5], sin[:5]),
        rope.Exchanged(torch.neg).rotate(tokens, cos[:5], sin[:5]),
    ]
