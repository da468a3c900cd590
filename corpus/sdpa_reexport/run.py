import torch
from wan import Attention
from wan.head import pool


def outputs():
    qkv = [torch.randn(2, 3, 5, 8) for _ in range(3)]
    return [Attention()(*qkv), pool(*qkv)]
