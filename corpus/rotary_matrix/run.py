import torch
from rope import apply_rope


def outputs():
    angles = torch.randn(1, 1, 5, 4)
    rows = torch.stack([angles.cos(), -angles.sin(), angles.sin(), angles.cos()], dim=-1)
    matrices = rows.unflatten(-1, (2, 2))
    return list(apply_rope(torch.randn(2, 3, 5, 8), torch.randn(2, 3, 5, 8), matrices))
