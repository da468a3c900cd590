import types

import attention
import torch


def outputs():
    scores = 8 * torch.randn(2, 3, 7)
    hidden = torch.rand(2, 3, 7) < 0.3
    hidden[..., 0] = False
    log = []
    out = [
        *attention.both_axes(scores),
        *attention.clamped(scores),
        *attention.one_is_masked(scores, hidden),
        *attention.one_has_a_finite_mask(scores, hidden),
        *attention.a_third_reader(scores),
        *attention.read_between(scores, log),
        *log,
    ]
    for stable in (False, True):
        for bounded in (False, True):
            flags = types.SimpleNamespace(stable=stable, bounded=bounded)
            out += attention.under_flags(flags, scores)
    return out
