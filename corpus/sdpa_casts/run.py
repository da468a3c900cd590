import torch
from attention import attend, attend_float


def outputs():
    qkv = [torch.randn(2, n, 48) for n in (5, 6, 6)]
    heads = [torch.randn(2, 5, 3, 16) for _ in range(3)]
    return [attend(torch.randn(2, 1).double(), *qkv, 3), attend_float(*heads)]
