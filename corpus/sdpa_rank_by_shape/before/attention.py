"""How many axes there are is told by sizes of another tensor."""

import torch.nn.functional as F


def leading(q, k, v, heads):
    b, n, _ = q.shape
    c, m, _ = k.shape
    c, m, _ = v.shape
    q = q.view(*q.shape[:2], heads, -1).transpose(1, 2)
    k = k.view(*k.shape[:-1], heads, -1).transpose(1, 2)
    v = v.view(v.shape[:2] + (heads, -1)).transpose(1, 2)
    x = F.scaled_dot_product_attention(q, k, v)
    return x.transpose(1, 2).flatten(2)


def by_name(x, heads):
    b, n, _ = x.size()
    shape = x.shape[:-1]
    split = (*shape, heads, -1)
    q = x.view(split).transpose(1, 2)
    x = F.scaled_dot_product_attention(q, q, q)
    return x.transpose(1, 2).reshape(*shape, -1)


def of_any_rank(q, k, v, heads):
    """What has two more axes than something unknown may have any number."""
    q = q.view(*q.shape[:-1], heads, -1).transpose(1, 2)
    k = k.view(*k.shape[:-1], heads, -1).transpose(1, 2)
    v = v.view(*v.shape[:-1], heads, -1).transpose(1, 2)
    x = F.scaled_dot_product_attention(q, k, v)
    return x.transpose(1, 2).flatten(-2)


def too_few(q, k, v):
    """A slice that ends behind the last axis has no more than there are: three in all."""
    n, w = q.shape
    m, w = k.shape
    m, w = v.shape
    q = q.view(*q.shape[:2], 1).transpose(0, 1)
    k = k.view(*k.shape[:9], 1).transpose(0, 1)
    v = v.view(*v.shape[-5:], 1).transpose(0, 1)
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2)


def by_number(q, k, v, ends, heads):
    """Where the slice ends is not written."""
    b, n, _ = q.shape
    q = q.view(*q.shape[:ends], heads, -1).transpose(1, 2)
    k = k.view(*k.shape[:ends], heads, -1).transpose(1, 2)
    v = v.view(*v.shape[:ends], heads, -1).transpose(1, 2)
    x = F.scaled_dot_product_attention(q, k, v)
    return x.transpose(1, 2).flatten(2)
