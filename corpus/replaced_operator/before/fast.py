import torch


def install(attention):
    setattr(torch.nn.functional, "scaled_dot_product_attention", attention)
