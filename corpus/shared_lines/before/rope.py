import torch


def rotate(x, cos, sin):
    a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
    o = torch.empty_like(x); o[..., 0::2] = a * cos - b * sin; o[..., 1::2] = a * sin + b * cos
    return o.type_as(x)
