import mindiesd.ext


def attend(q, k, v):
    return mindiesd.ext.attention_forward(q, k, v, head_first=True)
