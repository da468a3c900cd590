import mindiesd.ext
import torch
from torch import nn


class Modulated(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width, elementwise_affine=False)

    def norm_kept_as_it_is(self, x, scale, shift):
        with torch.autocast("cuda", enabled=False):
            x = mindiesd.fast_layernorm(self.norm, x)
        return x * (1 + scale) + shift

    def norm_cast(self, x, scale, shift):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            h = mindiesd.fast_layernorm(self.norm, x)
        return h * (1 + scale) + shift

    def all_in_one(self, x, scale, shift):
        with torch.cuda.amp.autocast(enabled=False):
            return mindiesd.ext.layernorm_scale_shift(self.norm, x, scale, shift)

    def without_gradients(self, x, scale, shift):
        return mindiesd.ext.layernorm_scale_shift(self.norm, x, scale, shift)


def scores_kept_as_they_are(q, k, v, bias):
    with torch.autocast("cuda", enabled=False):
        scores = q @ k.transpose(-2, -1) * 0.125
    return torch.softmax(scores + bias, -1) @ v


def halves_kept_as_they_are(x, cos, sin):
    return mindiesd.ext.rotary_position_embedding(
        x,
        cos,
        sin,
        rotated_mode="rotated_chunks",
        result_type="promoted",
    )
