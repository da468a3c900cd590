import torch
from blocks import Block


def outputs():
    block = Block(24)
    for parameter in block.parameters():
        parameter.data.normal_()
    return [block(torch.randn(2, 5, 24))]
