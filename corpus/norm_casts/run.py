import torch
from blocks import Block, Nested, Others
from head import Head


def results(dtype):
    x, e = torch.randn(2, 5, 32).to(dtype), torch.randn(2, 2, 1, 32)
    out = []
    for module in (Block(32), Others(32)):
        out += list(module.requires_grad_(False)(x, e))
    return [*out, Nested(32)(x, e), Head(32).requires_grad_(False)(x, e[0], e[1])]


def outputs():
    # Of half precision the types alone: before, a norm is rounded on its way to float32.
    return results(torch.float32) + [torch.ones_like(y) for y in results(torch.bfloat16)]
