"""The mean of squares and its root, as model code spells them."""
import mindiesd.ext
import torch
from torch import nn


class Norms(nn.Module):
    def __init__(self, width, eps=1e-2):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def product(self, x):
        return mindiesd.ext.rms_norm(x, self.weight, self.eps)

    def sum_by_shape(self, x):
        return mindiesd.ext.rms_norm(x, self.weight, self.eps)

    def sum_by_size(self, x):
        return mindiesd.ext.rms_norm(x, self.weight, self.eps)

    def dims(self, x):
        return mindiesd.ext.rms_norm(x, self.weight, self.eps)

    def unsqueezed(self, x):
        return mindiesd.ext.rms_norm(x, self.weight, self.eps)

    def new_axis(self, x):
        return mindiesd.ext.rms_norm(x, self.weight, self.eps)


def another_axis(x, eps: float = 1e-6):
    """As many entries as the second axis has, added over the last."""
    h = x.float()
    return h * torch.rsqrt((h * h).sum(-1, keepdim=True) / x.shape[1] + eps)
