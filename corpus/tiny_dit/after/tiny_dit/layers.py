"""Norms and the feed-forward network."""

import mindiesd.ext
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, width: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return mindiesd.ext.rms_norm(x, self.weight, self.eps)


class FeedForward(nn.Module):
    def __init__(self, width: int, factor: int = 4):
        super().__init__()
        self.up = nn.Linear(width, factor * width)
        self.down = nn.Linear(factor * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(mindiesd.ext.linear_activation(self.up, x, "gelu-tanh"))
