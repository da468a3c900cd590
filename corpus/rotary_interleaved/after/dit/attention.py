from torch import nn

from .rope import apply_rotary, rope_tables


class Attention(nn.Module):
    def forward(self, q, k):
        cos, sin = rope_tables(q.shape[2], q.shape[3])
        q = apply_rotary(q, cos, sin)
        k = apply_rotary(k, cos, sin)
        return q @ k.transpose(-2, -1)
