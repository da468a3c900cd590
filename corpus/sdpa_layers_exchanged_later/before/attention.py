"""Layers before attention that a method exchanges, in other words than `self.norm = …`."""

import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.RMSNorm(4)

    def forward(self, x):
        b, n, h, d = x.shape
        q = self.norm(x.transpose(1, 2))
        return F.scaled_dot_product_attention(q, q, q).transpose(1, 2)


class ByItsName(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.RMSNorm(4)

    def forward(self, x):
        b, n, h, d = x.shape
        q = self.norm(x.transpose(1, 2))
        return F.scaled_dot_product_attention(q, q, q).transpose(1, 2)

    def exchange(self):
        setattr(self, "norm", nn.GroupNorm(2, 2))
        for parameter in self.parameters():
            parameter.requires_grad = False


class AmongOthers(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.RMSNorm(4)

    def forward(self, x):
        b, n, h, d = x.shape
        q = self.norm(x.transpose(1, 2))
        return F.scaled_dot_product_attention(q, q, q).transpose(1, 2)

    def exchange(self):
        (self.norm), self.count = nn.GroupNorm(2, 2), 1
        for parameter in self.parameters():
            parameter.requires_grad = False


class Registered(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.RMSNorm(4)

    def forward(self, x):
        b, n, h, d = x.shape
        q = self.norm(x.transpose(1, 2))
        return F.scaled_dot_product_attention(q, q, q).transpose(1, 2)

    def exchange(self):
        self.register_module("norm", nn.GroupNorm(2, 2))
        for parameter in self.parameters():
            parameter.requires_grad = False


class InALoop(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.RMSNorm(4)

    def forward(self, x):
        b, n, h, d = x.shape
        q = self.norm(x.transpose(1, 2))
        return F.scaled_dot_product_attention(q, q, q).transpose(1, 2)

    def exchange(self):
        for self.norm in (nn.Identity(), nn.GroupNorm(2, 2)):
            for parameter in self.norm.parameters():
                parameter.requires_grad = False
