from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb
from torch import nn


class Attention(nn.Module):
    def __init__(self, head_dim):
        super().__init__()
        self.rope = RotaryEmbedding(head_dim // 2)

    def forward(self, q, k, freqs):
        q = apply_rotary_emb(freqs, q)
        k = apply_rotary_emb(freqs, k, scale=0.5)
        return q, k

    def behind_a_prefix(self, t, freqs, prefix):
        return apply_rotary_emb(freqs, t, start_index=prefix, seq_dim=-2)
