import mindiesd.ext


def attend(q, k, v, heads):
    batch, length, width = q.shape
    q = q.view(batch, length, heads, width // heads)
    k = k.view(batch, length, heads, width // heads)
    v = v.view(batch, length, heads, width // heads)
    out = mindiesd.attention_forward(q, k, v)
    return out.view(batch, length, width)


def attend_in_place(q, k, v):
    batch, length, heads, _ = q.shape
    q = q.transpose(1, 2).contiguous()
    q.mul_(0.5)
    out = mindiesd.ext.attention_forward(
        q,
        k.transpose(1, 2),
        v.transpose(1, 2),
        head_first=True,
    )
    return out.transpose(1, 2)
