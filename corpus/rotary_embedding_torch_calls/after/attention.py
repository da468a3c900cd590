import mindiesd.ext
from rotary_embedding_torch import RotaryEmbedding
from torch import nn


class Attention(nn.Module):
    def __init__(self, head_dim):
        super().__init__()
        self.rope = RotaryEmbedding(head_dim // 2)

    def forward(self, q, k, freqs):
        q = mindiesd.ext.rotary_angles(q, freqs)
        k = mindiesd.ext.rotary_angles(k, freqs, scale=0.5)
        return q, k

    def behind_a_prefix(self, t, freqs, prefix):
        return mindiesd.ext.rotary_angles(t, freqs, start_index=prefix)
