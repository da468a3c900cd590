from types import SimpleNamespace

import torch
from attention import attend, normalise


def outputs():
    qkv = [torch.randn(2, 5, 24) for _ in range(3)]
    norm = SimpleNamespace(weight=torch.randn(24), eps=1e-3)
    return [attend(*qkv, 3), normalise(norm, qkv[0])]
