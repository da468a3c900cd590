from types import SimpleNamespace

import rope
import torch


def outputs():
    x = torch.randn(2, 6, 3, 8)
    angles = torch.randn(6, 1, 4)
    full = torch.cat((angles, angles), dim=-1)
    twice = angles.repeat_interleave(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    z = torch.polar(torch.ones_like(angles), angles)
    pairs = torch.stack((cos, sin), dim=-1)
    out = []
    for t in (x, x.double()):
        out += [
            rope.halves_by_pattern(t, full),
            rope.pairs_by_pattern(t, twice),
            rope.pairs_in_their_shape(t, twice.sin(), twice.cos()),
            rope.by_the_opposite_angle(t, full.cos(), full.sin()),
            rope.by_the_angle_again(t, full.cos(), full.sin()),
            rope.halves_by_the_opposite_angle(t, cos, sin),
            rope.halves_by_the_opposite_angle(t, cos.to(t.dtype), sin.to(t.dtype)),
            rope.accumulated(t, full.cos().to(t.dtype), full.sin().to(t.dtype)),
            rope.neighbours(t, cos, sin),
            rope.neighbours_by_index(t, pairs),
            rope.stored(t, cos, sin),
            rope.stored_in_halves(t, cos, sin),
            rope.kept(SimpleNamespace(), t, cos, sin),
            rope.complex_pairs(t.transpose(1, 2), z[:, 0].expand(2, 6, 4)),
            rope.complex_in_its_shape(t, z),
            rope.complex_in_its_shape(t[0], z[None]),
            rope.complex_in_double(t, z.to(torch.complex128)),
            rope.complex_uncast(t, z),
        ]
    return out
