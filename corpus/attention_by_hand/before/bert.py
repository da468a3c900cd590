import math

import torch
import torch.nn as nn
import torch.nn.functional as F


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
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.size(-1))
        if attention_mask is not None:
            scores = scores + attention_mask
        probs = F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
        probs = F.dropout(probs, p=self.dropout, training=self.training)
        out = torch.matmul(probs, v)
        return out.transpose(1, 2).flatten(2)


def single(q, k, v):
    weight = torch.softmax(torch.bmm(q, k.transpose(1, 2)), dim=-1)
    return torch.bmm(weight, v)


def sliced(q, k, v, scale: float):
    scores = torch.baddbmm(
        torch.empty(q.shape[0], q.shape[1], k.shape[1]), q, k.transpose(-1, -2), beta=0, alpha=scale
    )
    return torch.bmm(scores.softmax(dim=-1), v)


def biased(q, k, v, bias):
    attn = q @ k.mT
    attn = attn + bias
    attn = attn.softmax(dim=-1)
    return attn @ v
