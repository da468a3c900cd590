import mindiesd


def attend(q, k, v):
    b, h, n, d = q.shape
    _, _, m, _ = k.size()
    b2, h2, m2, d2 = v.shape
    return mindiesd.attention_forward(q, k, v, head_first=True)
