"""Blocks whose norms are scaled and shifted by functions of another file."""

import mindiesd.ext
import torch.nn as nn
from dit import patch
from dit.helpers import cached, checked, in_place, modulate, noted, of_the_module, with_a_default
from dit.helpers import replaced as patched


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim, elementwise_affine=False, eps=1e-6)

    def forward(self, x, shift, scale):
        return mindiesd.ext.layernorm_scale_shift(
            self.norm,
            x,
            scale.unsqueeze(1),
            shift.unsqueeze(1),
        )

    def by_name(self, x, shift, scale):
        return mindiesd.ext.layernorm_scale_shift(
            self.norm,
            x,
            scale.unsqueeze(1),
            shift.unsqueeze(1),
        )

    def scaled(self, x, scale):
        return mindiesd.ext.layernorm_scale_shift(self.norm, x, scale[:, None])

    def kept(self, x, shift, scale):
        out = with_a_default(mindiesd.fast_layernorm(self.norm, x), shift, scale)
        out = out + of_the_module(mindiesd.fast_layernorm(self.norm, x), shift, scale)
        out = out + checked(mindiesd.fast_layernorm(self.norm, x), shift, scale)
        out = out + patched(mindiesd.fast_layernorm(self.norm, x), shift, scale)
        out = out + noted(mindiesd.fast_layernorm(self.norm, x), shift, scale)
        return out + in_place(mindiesd.fast_layernorm(self.norm, x), shift, scale)

    def read_twice(self, x, shift, scale):
        normed = mindiesd.fast_layernorm(self.norm, x)
        return modulate(normed, shift, scale) + normed

    def remembered(self, x, shift, scale):
        return cached(mindiesd.fast_layernorm(self.norm, x), shift, scale)
