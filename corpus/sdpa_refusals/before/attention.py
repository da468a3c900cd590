import torch
import torch.nn.functional as F


def splatted(q, k, v, **options):
    return F.scaled_dot_product_attention(q, k, v, **options)


def wrong_keyword(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, softmax_scale=1.0)


def by_tuple(qkv):
    return F.scaled_dot_product_attention(*qkv)
