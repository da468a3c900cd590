"""Layers before attention that a method exchanges, in other words than `self.norm = …`."""

import mindiesd.ext
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = mindiesd.ext.RMSNorm(4)

    def forward(self, x):
        b, n, h, d = x.shape
        q = self.norm(x)
        return mindiesd.attention_forward(q, q, q)


class ByItsName(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = mindiesd.ext.RMSNorm(4)

    def forward(self, x):
        b, n, h, d = x.shape
        q = self.norm(x.transpose(1, 2))
        return mindiesd.ext.attention_forward(q, q, q, head_first=True).transpose(1, 2)

    def exchange(self):
        setattr(self, "norm", nn.GroupNorm(2, 2))
        for parameter in self.parameters():
            parameter.requires_grad = False


class AmongOthers(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = mindiesd.ext.RMSNorm(4)

    def forward(self, x):
        b, n, h, d = x.shape
        q = self.norm(x.transpose(1, 2))
        return mindiesd.ext.attention_forward(q, q, q, head_first=True).transpose(1, 2)

    def exchange(self):
        (self.norm), self.count = nn.GroupNorm(2, 2), 1
        for parameter in self.parameters():
            parameter.requires_grad = False


class Registered(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = mindiesd.ext.RMSNorm(4)

    def forward(self, x):
        b, n, h, d = x.shape
        q = self.norm(x.transpose(1, 2))
        return mindiesd.ext.attention_forward(q, q, q, head_first=True).transpose(1, 2)

    def exchange(self):
        self.register_module("norm", nn.GroupNorm(2, 2))
        for parameter in self.parameters():
            parameter.requires_grad = False


class InALoop(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = mindiesd.ext.RMSNorm(4)

    def forward(self, x):
        b, n, h, d = x.shape
        q = self.norm(x.transpose(1, 2))
        return mindiesd.ext.attention_forward(q, q, q, head_first=True).transpose(1, 2)

    def exchange(self):
        for self.norm in (nn.Identity(), nn.GroupNorm(2, 2)):
            for parameter in self.norm.parameters():
                parameter.requires_grad = False
