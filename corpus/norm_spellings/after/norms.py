import mindiesd.ext
import torch
from torch import nn


class Norms(nn.Module):
    def __init__(self, width, eps=1e-2):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def with_power(self, x):
        return mindiesd.ext.rms_norm(x, self.weight, self.eps)

    def with_square_root(self, x):
        return mindiesd.ext.rms_norm(x, self.weight, self.eps, result_type="input")

    def with_exponent(self, x):
        return mindiesd.ext.rms_norm(x, self.weight, self.eps, result_type="input")


def plain(x):
    return mindiesd.ext.rms_norm(x, eps=1e-6, result_type="input")


def centred(x, eps: float = 1e-6):
    """A layer norm by hand."""
    return mindiesd.ext.layer_norm_along(x, -1, eps=eps, result_type="input")


def offset(x, weight, eps=1e-6):
    """Gemma's: the weight is stored as its distance from one; it stays outside."""
    h = x.float()
    h = mindiesd.ext.rms_norm(h, eps=eps, result_type="input")
    return (h * (1.0 + weight.float())).type_as(x)


def scaled(x, weight, eps=1e-6):
    """The weight may have any shape, so it stays outside."""
    h = mindiesd.ext.rms_norm(x, eps=eps, result_type="input")
    return weight * h
