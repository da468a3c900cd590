"""Blocks whose norms are scaled and shifted by functions of another file."""

import mindiesd.ext
import torch.nn as nn
from dit import patch, starred, switched
from dit.helpers import (
    cached,
    checked,
    generated,
    in_place,
    modulate,
    noted,
    of_the_module,
    widened,
    with_a_default,
)
from dit.helpers import replaced as patched


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim, elementwise_affine=False, eps=1e-6)

    def forward(self, x, shift, scale):
        return mindiesd.ext.layernorm_scale_shift(self.norm, x, scale.unsqueeze(1), shift.unsqueeze(1))

    def by_name(self, x, shift, scale):
        return mindiesd.ext.layernorm_scale_shift(self.norm, x, scale.unsqueeze(1), shift.unsqueeze(1))

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

    def many(self, x, shift, scale):
        out = starred.modulate(mindiesd.fast_layernorm(self.norm, x), shift, scale)
        switched.switch()
        return [out, switched.modulate(mindiesd.fast_layernorm(self.norm, x), shift, scale), *generated(mindiesd.fast_layernorm(self.norm, x), shift, scale)]

    def in_order(self, x, both):
        return modulate(mindiesd.fast_layernorm(self.norm, x), both.pop(), both.pop())

    def of_the_walrus(self, x, shift, scale):
        return modulate(mindiesd.fast_layernorm(self.norm, x), (twice := 2 * shift), scale + twice)

    def unread(self, x, shift, scale):
        normed = mindiesd.fast_layernorm(self.norm, x)
        wide = widened(normed, scale)
        return normed * (1 + wide) + shift

    def unread_here(self, x, shift, scale):
        normed = mindiesd.fast_layernorm(self.norm, x)
        wide = widened_here(normed, scale)
        return normed * (1 + wide) + shift


def widened_here(x, scale):
    return scale.unsqueeze(1)
