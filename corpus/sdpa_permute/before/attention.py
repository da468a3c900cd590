import torch
import torch.nn.functional as F


def with_permute(q, k, v, heads):
    b, n, _ = q.shape
    q = q.view(b, n, heads, -1).permute(0, 2, 1, 3)
    k = k.view(b, n, heads, -1).permute((0, 2, 1, 3))
    v = torch.permute(v.view(b, n, heads, -1), (0, 2, 1, 3))
    x = F.scaled_dot_product_attention(q, k, v)
    return x.permute(0, 2, 1, 3).reshape(b, n, -1)


def with_function(q, k, v, heads):
    b, n, _ = q.shape
    q = torch.transpose(q.view(b, n, heads, -1), 1, 2)
    k = torch.transpose(k.view(b, n, heads, -1), dim0=2, dim1=1)
    v = torch.swapaxes(v.view(b, n, heads, -1), -3, -2)
    x = F.scaled_dot_product_attention(q, k, v)
    return torch.transpose(x, 1, 2).flatten(2)
