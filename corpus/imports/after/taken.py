import torch.nn.functional as F

mindiesd = "a name that is taken"


def attend(q, k, v):
    return F.scaled_dot_product_attention(q, k, v), mindiesd
