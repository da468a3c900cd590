import torch
import torch.nn.functional as F


def two_calls(q, k, v, b, n, d):
    """The second result is not read, but the call runs."""
    k = k.view(b, -1, n, d).transpose(1, 2)
    v = v.view(b, -1, n, d).transpose(1, 2)
    first = F.scaled_dot_product_attention(k, k, k)
    second = F.scaled_dot_product_attention(v, k, v)
    return first.transpose(1, 2)


def debugging(q, k, v, b, n, d):
    q = q.view(b, -1, n, d).transpose(1, 2)
    k = k.view(b, -1, n, d).transpose(1, 2)
    v = v.view(b, -1, n, d).transpose(1, 2)
    scores = torch.matmul(q, k.transpose(-2, -1))
    x = F.scaled_dot_product_attention(q, k, v)
    return x.transpose(1, 2)
