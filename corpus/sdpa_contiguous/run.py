import torch
from attention import attend, attend_in_place


def outputs():
    q, k, v = (torch.randn(2, 5, 24) for _ in range(3))
    heads = [torch.randn(2, 5, 3, 8) for _ in range(3)]
    return [attend(q, k, v, 3), attend_in_place(*heads), *heads]
