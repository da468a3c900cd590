import torch.nn.functional as F


def attend(q, k, v, mindiesd=None):
    return F.scaled_dot_product_attention(q, k, v), mindiesd
