import mindiesd.ext


def literal(q, k, v):
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    return mindiesd.ext.attention_forward(q, k, v, is_causal=True, head_first=True)


def variable(q, k, v, causal, heads=4):
    q = q.view(2, -1, heads, 8)
    k = k.view(2, -1, heads, 8)
    v = v.view(2, -1, heads, 8)
    x = mindiesd.ext.attention_forward(q, k, v, is_causal=causal)
    return x.reshape(2, -1, heads * 8)


def on(q, k, v, heads=4):
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
