"""A softmax that is a module between the two products of attention."""

import mindiesd.ext
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.scale = (dim // heads) ** -0.5
        self.softmax = nn.Softmax(dim=-1)
        self.over_queries = nn.Softmax(dim=-2)
        self.unsaid = nn.Softmax()
        self.drop = nn.Dropout(0.1)

    def forward(self, q, k, v):
        return mindiesd.ext.attention_forward(
            q,
            k,
            v,
            scale=self.scale,
            head_first=True,
            strides="BNSD",
        )

    def with_bias(self, q, k, v, bias):
        return mindiesd.ext.attention_forward(
            q,
            k,
            v,
            attn_mask=bias,
            scale=self.scale,
            head_first=True,
            strides="BNSD",
        )

    def by_queries(self, q, k, v):
        return self.over_queries(q @ k.transpose(-2, -1)) @ v

    def by_whatever(self, q, k, v):
        return self.unsaid(q @ k.transpose(-2, -1)) @ v

    def windows(self, q, k, v, mask):
        weights = q @ k.transpose(-2, -1)
        b, h, n, _ = weights.shape
        weights = weights.view(b // mask.shape[0], mask.shape[0], h, n, n) + mask[None, :, None]
        weights = self.softmax(weights.view(b, h, n, n))
        return weights @ v


class Chosen(nn.Module):
    def __init__(self, softmax=None):
        super().__init__()
        self.softmax = softmax or nn.Softmax(dim=-1)

    def forward(self, q, k, v):
        return self.softmax(q @ k.transpose(-2, -1)) @ v


def at_once(q, k, v):
    return mindiesd.ext.attention_forward(q, k, v, scale=1.0, head_first=True, strides="BNSD")


def at_once_over_queries(q, k, v):
    return nn.Softmax(dim=-2)(torch.matmul(q, k.transpose(-2, -1))) @ v
