import torch
import torch.nn as nn
import torch.nn.functional as F


class RMSNorm(nn.Module):
    def __init__(self, width: int, eps: float = 1e-5):
        super().__init__()
        self.width = width
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return F.rms_norm(x, (self.width,), self.weight, self.eps)


class OffsetNorm(RMSNorm):
    """The weight is stored around zero."""

    def forward(self, x):
        dtype = x.dtype
        x = F.rms_norm(x.float(), (self.width,), weight=self.weight + 1.0, eps=self.eps)
        return x.to(dtype)


def over_the_last(x, width):
    return torch.nn.functional.rms_norm(x, [width])


def without_weight(x):
    return F.rms_norm(x, x.shape[-1:], eps=1e-6)


def over_two(x):
    """Both dimensions together: another function."""
    return F.rms_norm(x, x.shape[-2:], eps=1e-6)


def of_a_given_shape(x, shape):
    return F.rms_norm(x, shape)
