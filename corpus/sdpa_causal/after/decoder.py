import mindiesd.ext


def literal(q, k, v):
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    return mindiesd.ext.attention_forward(q, k, v, is_causal=True, head_first=True)


def variable(q, k, v, causal, heads=4):
    q = q.view(2, -1, heads, 8).transpose(1, 2)
    k = k.view(2, -1, heads, 8).transpose(1, 2)
    v = v.view(2, -1, heads, 8).transpose(1, 2)
    x = mindiesd.ext.attention_forward(
        q,
        k,
        v,
        is_causal=causal and q.shape[2] > 1,
        head_first=True,
    )
    return x.transpose(1, 2).reshape(2, -1, heads * 8)


def positional(q, k, v, heads=4):
    q = q.view(2, -1, heads, 8)
    k = k.view(2, -1, heads, 8)
    v = v.view(2, -1, heads, 8)
    x = mindiesd.ext.attention_forward(q, k, v, is_causal=True)
    return x.reshape(2, -1, heads * 8)


def off(q, k, v, heads=4):
    q = q.view(2, -1, heads, 8)
    k = k.view(2, -1, heads, 8)
    v = v.view(2, -1, heads, 8)
    x = mindiesd.attention_forward(q, k, v)
    return x.reshape(2, -1, heads * 8)
