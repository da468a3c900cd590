import torch
from attention import Block


def outputs():
    block = Block()
    q, k, v = (torch.randn(2, 5, 64) for _ in range(3))
    grouped = torch.randn(2, 5, 128), torch.randn(2, 5, 32), torch.randn(2, 5, 32)
    return [block.scaled(q, k, v), block.integer_scale(q, k, v), block.grouped(*grouped)]
