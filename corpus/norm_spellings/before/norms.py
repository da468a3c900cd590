import torch
from torch import nn


class Norms(nn.Module):
    def __init__(self, width, eps=1e-2):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def with_power(self, x):
        h = x.float()
        return self.weight * (h * ((h**2).mean(-1, keepdim=True) + self.eps).rsqrt()).type_as(x)

    def with_square_root(self, x):
        h = x.to(torch.float32)
        h = h / torch.sqrt(torch.mean(torch.square(h), dim=-1, keepdim=True) + self.eps)
        return (self.weight * h).to(x.dtype)

    def with_exponent(self, x):
        dtype = x.dtype
        h = x.float()
        variance = torch.mean(h * h, dim=-1, keepdim=True)
        h = h * (variance + self.eps) ** -0.5
        return (h * self.weight).to(dtype)


def plain(x):
    h = x.float()
    return (h * torch.rsqrt(h.pow(2).mean(dim=-1, keepdim=True) + 1e-6)).to(x.dtype)


def centred(x, eps: float = 1e-6):
    """A layer norm by hand."""
    h = x.float() - x.float().mean(-1, keepdim=True)
    h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)
    return h.to(x.dtype)


def offset(x, weight, eps=1e-6):
    """Gemma's: the weight is stored as its distance from one; it stays outside."""
    h = x.float()
    h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)
    return (h * (1.0 + weight.float())).type_as(x)


def scaled(x, weight, eps=1e-6):
    """The weight may have any shape, so it stays outside."""
    h = x.float()
    h = (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)).to(x.dtype)
    return weight * h
