import torch.nn.functional as F


def attend(q, k, v, b, n, d):
    q = q.view(b, -1, n, d)
    k = k.view(b, -1, n, d)
    v = v.view(b, -1, n, d)
    qt = q = q.transpose(1, 2)
    kt = k = k.transpose(1, 2)
    v = v.transpose(1, 2)
    o = F.scaled_dot_product_attention(qt, kt, v)
    return o.transpose(1, 2).flatten(2)
