import math

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.GroupNorm(2, channels)
        self.q = nn.Conv2d(channels, channels, 1)
        self.k = nn.Conv2d(channels, channels, 1)
        self.v = nn.Conv2d(channels, channels, 1)
        self.proj_out = nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        h_ = self.norm(x)
        q = self.q(h_)
        k = self.k(h_)
        v = self.v(h_)

        # compute attention
        b, c, h, w = q.shape
        q = q.reshape(b, c, h * w)
        q = q.permute(0, 2, 1)
        k = k.reshape(b, c, h * w)
        w_ = torch.bmm(q, k)
        w_ = w_ * (int(c) ** (-0.5))
        w_ = F.softmax(w_, dim=2)

        # attend to values
        v = v.reshape(b, c, h * w)
        w_ = w_.permute(0, 2, 1)
        h_ = torch.bmm(v, w_)
        h_ = h_.reshape(b, c, h, w)
        return x + self.proj_out(h_)


class Spatial(Block):
    def forward(self, x):
        h_ = self.norm(x)
        q = rearrange(self.q(h_), 'b c h w -> b (h w) c')
        k = rearrange(self.k(h_), 'b c h w -> b c (h w)')
        v = rearrange(self.v(h_), 'b c h w -> b c (h w)')
        w_ = torch.einsum('bij,bjk->bik', q, k)

        w_ = w_ * (int(x.shape[1]) ** (-0.5))
        w_ = torch.nn.functional.softmax(w_, dim=2)

        w_ = rearrange(w_, 'b i j -> b j i')
        h_ = torch.einsum('bij,bjk->bik', v, w_)
        h_ = rearrange(h_, 'b c (h w) -> b c h w', h=x.shape[2])
        return x + self.proj_out(h_)


class Heads(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.heads = heads

    def forward(self, qkv):
        bs, width, length = qkv.shape
        ch = width // (3 * self.heads)
        q, k, v = qkv.reshape(bs * self.heads, ch * 3, length).split(ch, dim=1)
        scale = 1 / math.sqrt(math.sqrt(ch))
        weight = torch.einsum("bct,bcs->bts", q * scale, k * scale)
        weight = torch.softmax(weight.float(), dim=-1).type(weight.dtype)
        a = torch.einsum("bts,bcs->bct", weight, v)
        return a.reshape(bs, -1, length)


def viewed(q, k, v):
    """The product is dense, and whoever calls may view it."""
    return torch.bmm(v, torch.bmm(q, k).softmax(dim=-1).permute(0, 2, 1))


def viewed_equation(q, k, v):
    """So is what the equation gives."""
    return torch.einsum("bts,bcs->bct", torch.bmm(q, k).softmax(dim=-1), v)


def over_the_queries(q, k, v):
    return torch.bmm(v, torch.bmm(q, k).softmax(dim=1).permute(0, 2, 1))


def four_axes(q, k, v):
    """Axis 2 is not the last one here."""
    return v @ torch.softmax(q.unflatten(0, (1, 2)) @ k, dim=2).transpose(-2, -1)


def probabilities(q, k, v):
    weights = torch.bmm(q, k).softmax(dim=-1)
    return torch.bmm(v, weights.permute(0, 2, 1)), weights


def learnt(q, k, v, temperature):
    weights = (torch.bmm(q, k) * temperature).softmax(dim=-1)
    return torch.bmm(v, weights.permute(0, 2, 1))


def biased(q, k, v, bias):
    weights = (q.transpose(-2, -1) @ k * 0.5 + bias).softmax(dim=-1)
    return v @ weights.transpose(-2, -1)
