import attention
import torch


def outputs():
    qkv = [torch.randn(2, 5, 24) for _ in range(3)]
    return [attention.two_calls(*qkv, 2, 3, 8), attention.debugging(*qkv, 2, 3, 8)]
