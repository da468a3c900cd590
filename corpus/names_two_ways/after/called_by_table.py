import mindiesd.ext


def attention(q, k, v):
    return mindiesd.ext.attention_forward(q, k, v, head_first=True)
