import fusion
import torch


def outputs():
    weights, hidden = torch.randn(2, 5, 7) * 4, torch.rand(2, 5, 7) < 0.3
    out = []
    for flags in ((True, True, True), (False, True, False), (True, False, False)):
        module = fusion.BiAttention(*flags)
        out += [
            module.text(weights),
            module.vision(weights),
            module.shifted(weights),
            module.masked(weights, hidden),
            *module.both(weights),
        ]
    return [*out, fusion.finite_mask(weights, hidden)]
