import mindiesd.ext
import torch.nn as nn


class Chosen(nn.Module):
    def __init__(self, width, groups=None):
        super().__init__()
        if groups is None:
            self.norm = nn.LayerNorm(width)
        else:
            self.norm = nn.GroupNorm(groups, width)

    def forward(self, x, scale, shift):
        return self.norm(x) * (1 + scale) + shift


class Given(nn.Module):
    def __init__(self, norm_layer=nn.LayerNorm):
        super().__init__()
        self.norm = norm_layer(8)

    def forward(self, x, scale, shift):
        return self.norm(x) * (1 + scale) + shift


class Twice(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x, scale, shift, other_scale, other_shift):
        y = mindiesd.fast_layernorm(self.norm, x)
        return y * (1 + scale) + shift, y * (1 + other_scale) + other_shift


class Base(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.LayerNorm(width)

    def forward(self, x, scale, shift):
        return self.inner(x) * (1 + scale) + shift


class Replaced(Base):
    def __init__(self, width):
        super().__init__(width)
        self.inner = mindiesd.ext.RMSNorm(width)
