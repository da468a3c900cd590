"""Self-attention whose heads are split and merged in statements of their own."""

import torch.nn as nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.to_qkv = nn.Linear(width, 3 * width)
        self.to_out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.to_qkv(x).chunk(3, dim=-1)

        # heads to the front
        q = q.view(batch, length, self.heads, -1)
        q = q.transpose(1, 2)
        k = k.view(batch, length, self.heads, -1).transpose(1, 2)
        v = v.view(batch, length, self.heads, -1).transpose(1, 2)

        out = F.scaled_dot_product_attention(q, k, v, dropout_p=0.0, is_causal=False)

        out = out.transpose(1, 2)
        out = out.reshape(batch, length, width)
        return self.to_out(out)
