"""Self-attention whose heads are split and merged in statements of their own."""

import mindiesd
import torch.nn as nn


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
        k = k.view(batch, length, self.heads, -1)
        v = v.view(batch, length, self.heads, -1)

        out = mindiesd.attention_forward(q, k, v)

        out = out.reshape(batch, length, width)
        return self.to_out(out)
