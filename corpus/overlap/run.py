import torch
from attention import nested


def outputs():
    return [nested(*[torch.randn(2, 3, 5, 8) for _ in range(3)])]
