import torch
import torch.nn as nn
import torch.nn.functional as F


def rotate_half(x):
    x1 = x[..., : x.shape[-1] // 2]
    x2 = x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)


def rotated_by_slices(x, cos, sin):
    return x * cos + rotate_half(x) * sin


def rotated_by_chunks(x, cos, sin):
    x1, x2 = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-x2, x1), dim=-1) * sin


def attend(q, k, v, scale: float):
    return F.softmax(q @ k.transpose(-2, -1) * scale, dim=-1) @ v


def attend_by_one(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, scale=True)


class Norm(nn.Module):
    def __init__(self, dim: int, eps: float):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


class Normed(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = Norm(dim, -1e-3)

    def forward(self, q, k, v):
        return attend(self.norm(q), self.norm(k), v, 0.5)


def gated(x):
    a, b = x.chunk(2, dim=-1)
    return a * F.gelu(b)


def clamped(x):
    return torch.softmax(x.clamp(min=-2.0, max=2.0), dim=-1)
