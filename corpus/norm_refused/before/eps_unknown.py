import torch


def normalise(x, eps):
    """Nothing shows that eps is a number: it may be a tensor of any shape."""
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
