import mindiesd


def attend(q, k, v, b, n, d):
    q = q.view(b, -1, n, d)
    k = k.view(b, -1, n, d)
    v = v.view(b, -1, n, d)
    qt = q = q
    kt = k = k
    o = mindiesd.attention_forward(qt, kt, v)
    return o.flatten(2)
