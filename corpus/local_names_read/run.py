from types import SimpleNamespace

import torch
from norm import forward


def outputs():
    norm = SimpleNamespace(weight=torch.randn(24), eps=1e-3)
    return list(forward(norm, torch.randn(2, 24)))
