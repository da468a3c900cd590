import torch
from attention import Attention


def outputs():
    model = Attention(3, 8).eval()
    qkv = [torch.randn(2, 5, 24) for _ in range(3)]
    return [model(*qkv), model.with_module(*qkv)]
