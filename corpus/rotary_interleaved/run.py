import torch
from dit import Attention


def outputs():
    return [Attention()(torch.randn(2, 3, 5, 8), torch.randn(2, 3, 5, 8))]
