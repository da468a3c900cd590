import torch


def attend(q, k, v):
    return torch._C._nn.scaled_dot_product_attention(q, k, v)
