import mindiesd.ext


def attention(query, key, value):
    return mindiesd.ext.attention_forward(query, key, value, head_first=True)
