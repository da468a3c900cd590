import torch
from attention import attend


def outputs():
    angles = torch.randn(1, 5, 4)
    freqs = torch.polar(torch.ones_like(angles), angles)
    return list(attend(torch.randn(2, 5, 3, 8), torch.randn(2, 5, 3, 8), freqs))
