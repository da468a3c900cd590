"""A query that is scaled beside its key and value, as DINOv2's first attention has it."""

import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.heads = heads
        self.scale = (dim // heads) ** -0.5
        self.qkv = nn.Linear(dim, 3 * dim)
        self.seen = []

    def three(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0] * self.scale, qkv[1], qkv[2]
        attn = (q @ k.transpose(-2, -1)).softmax(dim=-1)
        return (attn @ v).transpose(1, 2).reshape(B, N, C)

    def two(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        (q, k) = (qkv[0] * self.scale, qkv[1])
        attn = (q @ k.transpose(-2, -1)).softmax(dim=-1)
        return (attn @ qkv[2]).transpose(1, 2).reshape(B, N, C)

    def read_again(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0] * self.scale, qkv[1], qkv[2]
        attn = (q @ k.transpose(-2, -1)).softmax(dim=-1)
        return (attn @ v).transpose(1, 2).reshape(B, N, C), lambda: q

    def with_a_call(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        q, k, n = qkv[0] * self.scale, qkv[1], self.seen.append(N)
        attn = (q @ k.transpose(-2, -1)).softmax(dim=-1)
        return (attn @ qkv[2]).transpose(1, 2).reshape(B, N, C), n

    def swapped(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        k, q = qkv[0], qkv[1]
        q, k, two = k * self.scale, q, x * 2
        attn = (q @ k.transpose(-2, -1)).softmax(dim=-1)
        return (attn @ qkv[2]).transpose(1, 2).reshape(B, N, C), two


def norm(x, weight):
    axis, gain = -1, weight
    mean = x.pow(2).mean(axis, keepdim=True)
    return gain * (x * torch.rsqrt(mean + 1e-6))
