"""Layer norms as models write them out: along channels, along the last dimension, with casts and without."""
import mindiesd.ext
import torch
from torch import nn


class LayerNorm2d(nn.Module):
    def __init__(self, channels, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(channels))
        self.bias = nn.Parameter(torch.randn(channels))
        self.eps = eps

    def forward(self, x):
        x = mindiesd.ext.layer_norm_along(
            x,
            1,
            self.weight[:, None, None],
            self.bias[:, None, None],
            self.eps,
        )
        return x


class Planes(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.g = nn.Parameter(torch.randn(1, dim, 1, 1))
        self.b = nn.Parameter(torch.randn(1, dim, 1, 1))

    def forward(self, x):
        return mindiesd.ext.layer_norm_along(x, 1, self.g, self.b, self.eps)  # per place


class Stable(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.g = nn.Parameter(torch.randn(dim))

    def forward(self, x):
        eps = 1e-5 if x.dtype == torch.float32 else 1e-3
        return mindiesd.ext.layer_norm_along(x, -1, self.g, eps=eps)


class Encoder(nn.Module):
    def __init__(self, hidden, eps=1e-12):
        super().__init__()
        self.gamma = nn.Parameter(torch.randn(hidden))
        self.beta = nn.Parameter(torch.randn(hidden))
        self.variance_epsilon = eps

    def forward(self, x):
        return mindiesd.ext.layer_norm_along(x, -1, self.gamma, self.beta, self.variance_epsilon)

    def weight_first(self, x):
        return mindiesd.ext.layer_norm_along(x, -1, self.gamma, self.beta, self.variance_epsilon)

    def cast_before_the_weight(self, hidden_states):
        return mindiesd.ext.layer_norm_along(
            hidden_states,
            -1,
            self.gamma,
            self.beta,
            self.variance_epsilon,
            result_type="rounded",
        )

    def cast_behind_the_weight(self, hidden_states):
        return mindiesd.ext.layer_norm_along(
            hidden_states,
            -1,
            self.gamma,
            eps=self.variance_epsilon,
            result_type="input",
        )

    def centred(self, x):
        return mindiesd.ext.layer_norm_along(x, -1, eps=1e-5)


def functional(x, weight, bias, residual):
    return mindiesd.ext.layer_norm_along(x, -1, eps=1e-6) * weight + bias + residual
