"""Layers and functions that the bodies of classes bind, in classes whose methods hold nothing else."""

import mindiesd.ext
import torch.nn as nn
import torch.nn.functional as F

Activation = nn.GELU


class Shared(nn.Module):
    act = mindiesd.ext.GELU()
    norm = mindiesd.ext.RMSNorm(8)

    def forward(self, x):
        return self.norm(self.act(x))


class Aliased(nn.Module):
    act = mindiesd.ext.GELU()

    def forward(self, x):
        return self.act(x)


class Kept(nn.Module):
    act = staticmethod(F.gelu)

    def forward(self, x):
        return self.act(x)


def activated(x):
    return mindiesd.ext.gelu(x)
