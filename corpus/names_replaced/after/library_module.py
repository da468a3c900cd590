from xformers.ops import memory_efficient_attention


def attend(q, k, v):
    q, k, v = (t.reshape(2, 8, 4, 16) for t in (q, k, v))
    return memory_efficient_attention(q, k, v)
