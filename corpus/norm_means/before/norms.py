"""The mean of squares and its root, as model code spells them."""
import torch
from torch import nn


class Norms(nn.Module):
    def __init__(self, width, eps=1e-2):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def product(self, x):
        h = x.float()
        h = h * torch.rsqrt((h * h).mean(-1, keepdim=True) + self.eps)
        return self.weight * h.to(x.dtype)

    def sum_by_shape(self, x):
        h = x.float()
        variance = (h * h).sum(-1, keepdim=True) / h.shape[-1]
        return self.weight * (h / torch.sqrt(variance + self.eps)).to(x.dtype)

    def sum_by_size(self, x):
        variance = x.float().pow(2).sum(dim=-1, keepdim=True) / x.size(-1)
        return self.weight * (x.float() * (variance + self.eps).pow(-0.5)).to(x.dtype)

    def dims(self, x):
        h = x.float()
        h = h / (h.mul(h).mean((-1,), keepdim=True) + self.eps) ** 0.5
        return self.weight * h.to(x.dtype)

    def unsqueezed(self, x):
        h = x.float()
        h = h * torch.sqrt(h.square().mean(-1).unsqueeze(-1) + self.eps).reciprocal()
        return self.weight * h.to(x.dtype)

    def new_axis(self, x):
        h = x.float()
        h = h * (h.square().mean(-1)[..., None] + self.eps).rsqrt()
        return self.weight * h.to(x.dtype)


def another_axis(x, eps: float = 1e-6):
    """As many entries as the second axis has, added over the last."""
    h = x.float()
    return h * torch.rsqrt((h * h).sum(-1, keepdim=True) / x.shape[1] + eps)
