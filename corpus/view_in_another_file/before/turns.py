"""What another file reads by `.view` has the strides that it had before."""

import torch


def even_odd(x, cos, sin):
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


def halves(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


def complex_pairs(x, freqs):
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * freqs).flatten(3).type_as(x)


def by_tables(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


def tables_first(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return cos * x + sin * torch.cat((-second, first), dim=-1)


def attend(q, k, v):
    weights = (q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5).softmax(dim=-1)
    return weights @ v


def attend_by_equation(q, k, v):
    weights = torch.einsum("bqhd,bkhd->bhqk", q, k).softmax(dim=-1)
    return torch.einsum("bhqk,bkhd->bqhd", weights, v)


def normed(x):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


def root_first(x):
    return torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * x


class Modulated(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = torch.nn.LayerNorm(dim, elementwise_affine=False)

    def forward(self, x, scale, shift):
        return shift + (1 + scale) * self.norm(x)
