import torch
import torch.nn.functional as F


def attend(q, k, v, mindiesd=None):
    out = F.scaled_dot_product_attention(q, k, v)
    return out if mindiesd is None else out * mindiesd


def act(x):
    return F.gelu(x) + torch.ones(2)
