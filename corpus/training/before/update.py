import torch
import torch.nn.functional as F


def optimise(q, k, v):
    with torch.enable_grad():
        out = F.scaled_dot_product_attention(q, k, v)
    return out
