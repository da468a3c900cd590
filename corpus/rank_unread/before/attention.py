import torch.nn.functional as F


def attend(q, k, v):
    b, h, n, d = q.shape
    _, _, m, _ = k.size()
    b2, h2, m2, d2 = v.shape
    return F.scaled_dot_product_attention(q, k, v)
