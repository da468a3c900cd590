import mindiesd


def with_permute(q, k, v, heads):
    b, n, _ = q.shape
    q = q.view(b, n, heads, -1)
    k = k.view(b, n, heads, -1)
    v = v.view(b, n, heads, -1)
    x = mindiesd.attention_forward(q, k, v)
    return x.reshape(b, n, -1)


def with_function(q, k, v, heads):
    b, n, _ = q.shape
    q = q.view(b, n, heads, -1)
    k = k.view(b, n, heads, -1)
    v = v.view(b, n, heads, -1)
    x = mindiesd.attention_forward(q, k, v)
    return x.flatten(2)
