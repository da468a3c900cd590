import math

import mindiesd.ext
import torch.nn as nn


class SelfAttention(nn.Module):
    def __init__(self, width, heads, dropout=0.1):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.dropout = dropout

    def split(self, x):
        return x.view(x.shape[0], -1, self.heads, self.size).transpose(1, 2)

    def forward(self, x, attention_mask=None):
        q = self.split(self.query(x))
        k = self.split(self.key(x))
        v = self.split(self.value(x))
        # [batch, heads, from, to]
        out = mindiesd.ext.attention_forward(
            q,
            k,
            v,
            attn_mask=attention_mask,
            scale=1 / math.sqrt(q.size(-1)),
            head_first=True,
            strides="BNSD",
        )
        return out.transpose(1, 2).flatten(2)


def single(q, k, v):
    return mindiesd.ext.attention_forward(q, k, v, scale=1.0, head_first=True, strides="BNSD")


def sliced(q, k, v, scale: float):
    return mindiesd.ext.attention_forward(q, k, v, scale=scale, head_first=True, strides="BNSD")


def biased(q, k, v, bias):
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        attn_mask=bias,
        scale=1.0,
        head_first=True,
        strides="BNSD",
    )
