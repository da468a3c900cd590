"""What resembles a layer norm and stays."""
import torch
from torch import nn


class Annotated(nn.Module):
    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.a_2 = nn.Parameter(torch.ones(features))
        self.b_2 = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        std = x.std(-1, keepdim=True)
        return self.a_2 * (x - mean) / (std + self.eps) + self.b_2

    def root_plus_eps(self, x):
        mean = x.mean(-1, keepdim=True)
        var = x.var(-1, keepdim=True, unbiased=False)
        return (x - mean) / (torch.sqrt(var) + self.eps)


def of_a_sample(x):
    return (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True) + 1e-5)


def over_planes(x):
    var = x.var((2, 3), unbiased=False, keepdim=True)
    return (x - x.mean((2, 3), keepdim=True)) / torch.sqrt(var + 1e-5)


def mean_read_again(x):
    mean = x.mean(-1, keepdim=True)
    var = x.var(-1, unbiased=False, keepdim=True)
    return (x - mean) / torch.sqrt(var + 1e-5) + mean


def root_named(x):
    std = torch.sqrt(x.var(-1, unbiased=False, keepdim=True) + 1e-5)
    return (x - x.mean(-1, keepdim=True)) / std


def written_between(x):
    mean = x.mean(-1, keepdim=True)
    x[0] = 0
    return (x - mean) / torch.sqrt(x.var(-1, unbiased=False, keepdim=True) + 1e-5)


def other_dimensions(x):
    return (x - x.mean(1, keepdim=True)) / torch.sqrt(x.var(-1, unbiased=False, keepdim=True) + 1e-5)


def of_another(x, y):
    return (y - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, unbiased=False, keepdim=True) + 1e-5)
