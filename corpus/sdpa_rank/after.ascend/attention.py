import mindiesd
import torch
import torch.nn.functional as F


def shown_by_unpacking(q, k, v):
    b, h, n, d = q.shape
    _, _, m, _ = k.size()
    b2, h2, m2, d2 = v.shape
    assert m == m2 and (b2, h2, d2) == (b, h, d)
    return mindiesd.attention_forward(q, k, v, head_first=True).reshape(b * h, n, d)


def shown_by_reshape(q, k, v):
    q = q.reshape(2, 4, -1, 16)
    k, v = k.reshape(2, 4, -1, 16), v.reshape(2, 4, -1, 16)
    return mindiesd.attention_forward(q, k, v, head_first=True)


def shown_by_unbind(qkv, heads):
    q, k, v = qkv.reshape(qkv.shape[0], -1, 3, heads, 16).permute(2, 0, 3, 1, 4).unbind(0)
    return mindiesd.attention_forward(q, k, v, head_first=True)


def three_axes(q, k, v, heads):
    b, n, _ = q.shape
    q = q.view(b, n, heads, -1).transpose(1, 2).reshape(b * heads, n, -1)
    k = k.view(b, n, heads, -1).transpose(1, 2).reshape(b * heads, n, -1)
    v = v.view(b, n, heads, -1).transpose(1, 2).reshape(b * heads, n, -1)
    return F.scaled_dot_product_attention(q, k, v)


def not_shown(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def shown_for_two(q, k, v, shape):
    q = q.view(2, 4, -1, 16)
    k = k.view(2, 4, -1, 16)
    v = v.view(shape)
    return torch.relu(F.scaled_dot_product_attention(q, k, v))
