"""What stays: another activation, another norm, a norm that somebody else reads."""

import torch
from torch import nn


class Rectified(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.GroupNorm(4, channels)
        self.act = nn.ReLU()

    def forward(self, x):
        return self.act(self.norm(x))


class Batched(nn.Module):
    def __init__(self, channels, batched):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels) if batched else nn.GroupNorm(4, channels)
        self.act = nn.SiLU()

    def forward(self, x):
        return self.act(self.norm(x))


class OverItsOperand(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.GroupNorm(4, channels)
        self.act = nn.SiLU(inplace=True)

    def forward(self, x):
        return self.act(self.norm(x))


class Gated(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.GroupNorm(4, channels)
        self.act = nn.SiLU()

    def forward(self, x):
        h = self.norm(x)
        return self.act(h) * torch.tanh(h)
