import torch
from block import Block, read_twice


def outputs():
    torch.manual_seed(0)
    block, x = Block(8), torch.randn(2, 3, 8)
    parts = [torch.randn(8) for _ in range(4)]
    first = block.shift_first(x, parts), block.scale_first(x, parts)
    return [*first, block.bound_first(x, x), read_twice(x, print)]
