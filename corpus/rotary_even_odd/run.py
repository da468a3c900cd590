import torch
from rope import rotate


def outputs():
    angles = torch.randn(5, 4)
    return [rotate(torch.randn(2, 5, 8), angles.cos(), angles.sin())]
