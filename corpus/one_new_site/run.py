import torch
from attention import Attention


def outputs():
    qkv = [torch.randn(2, 5, 24) for _ in range(3)]
    return [Attention()(*qkv), Attention().added_since(*qkv)]
