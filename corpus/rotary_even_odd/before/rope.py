import torch


def rotate(x, cos, sin):
    even = x[..., 0::2].float()
    odd = x[..., 1::2].float()
    first = (even * cos - odd * sin).to(x.dtype)
    second = (even * sin + odd * cos).to(x.dtype)
    return torch.stack([first, second], dim=-1).flatten(-2)
