import torch.nn.functional as F


def literal(q, k, v):
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def variable(q, k, v, causal, heads=4):
    q = q.view(2, -1, heads, 8).transpose(1, 2)
    k = k.view(2, -1, heads, 8).transpose(1, 2)
    v = v.view(2, -1, heads, 8).transpose(1, 2)
    x = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    return x.transpose(1, 2).reshape(2, -1, heads * 8)


def on(q, k, v, heads=4):
    q = q.view(2, -1, heads, 8).transpose(1, 2)
    k = k.view(2, -1, heads, 8).transpose(1, 2)
    v = v.view(2, -1, heads, 8).transpose(1, 2)
    x = F.scaled_dot_product_attention(q, k, v, dropout_p=0.0, is_causal=True)
    return x.transpose(1, 2).reshape(2, -1, heads * 8)


def off(q, k, v, heads=4):
    q = q.view(2, -1, heads, 8).transpose(1, 2)
    k = k.view(2, -1, heads, 8).transpose(1, 2)
    v = v.view(2, -1, heads, 8).transpose(1, 2)
    x = F.scaled_dot_product_attention(q, k, v, dropout_p=0.0, is_causal=False)
    return x.transpose(1, 2).reshape(2, -1, heads * 8)
