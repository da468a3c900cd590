import casts
import torch
from rope import rotate


def outputs():
    angles = torch.randn(5, 4)
    cos, sin = angles.cos(), angles.sin()
    x = torch.randn(2, 5, 8)
    return [
        rotate(torch.randn(2, 5, 8), cos, sin),
        casts.in_own_type(x, cos, sin),
        casts.cast_before_slices(x, cos, sin),
        casts.in_the_shape_of_x(x, cos, sin),
        casts.unbound(x, cos, sin),
        casts.unbound(x.double(), cos, sin),
        casts.of_two_tensors(x, torch.randn(2, 5, 8), cos, sin),
        casts.halves_as_pairs(x, cos, sin),
        casts.always_half(x, cos, sin),
    ]
