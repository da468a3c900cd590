import blocks
import torch
import turns


def outputs():
    x = torch.randn(2, 5, 3, 8)
    half, whole = torch.randn(5, 4), torch.randn(5, 8)
    freqs = torch.polar(torch.ones(5, 4), half)
    scale, shift = torch.randn(2, 3, 5, 8).transpose(1, 2), torch.randn(8)
    read = turns.Modulated(8)(x, scale, shift)
    found = list(blocks.results(x, half, whole, freqs)) + [read]
    return found + [torch.tensor(t.stride()) for t in found]
