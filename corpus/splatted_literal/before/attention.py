import torch.nn.functional as F


def attend(q, k, v):
    options = {"dropout_p": 0.0, "is_causal": False}
    return F.scaled_dot_product_attention(q, k, v, **options)
