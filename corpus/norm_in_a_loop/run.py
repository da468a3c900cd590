from types import SimpleNamespace

import torch
from model import refine


def outputs():
    return [refine(SimpleNamespace(weight=torch.randn(24), eps=1e-3), torch.randn(2, 24), 3)]
