import mindiesd.ext
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
        return mindiesd.ext.rms_norm(x, self.weight, self.eps, result_type="torch")


class OffsetNorm(RMSNorm):
    """The weight is stored around zero."""

    def forward(self, x):
        dtype = x.dtype
        x = mindiesd.ext.rms_norm(
            x.float(),
            weight=self.weight + 1.0,
            eps=self.eps,
            result_type="torch",
        )
        return x.to(dtype)


def over_the_last(x, width):
    return mindiesd.ext.rms_norm(x, eps=None, result_type="torch")


def without_weight(x):
    return mindiesd.ext.rms_norm(x, eps=1e-6, result_type="torch")


def over_two(x):
    """Both dimensions together: another function."""
    return F.rms_norm(x, x.shape[-2:], eps=1e-6)


def of_a_given_shape(x, shape):
    return F.rms_norm(x, shape)
