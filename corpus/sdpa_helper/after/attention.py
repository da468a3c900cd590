import mindiesd


def split_heads(x, batch, heads, width):
    return x.view(batch, -1, heads, width).transpose(1, 2)


def merge_heads(x):
    return x.transpose(1, 2).flatten(2)


def attend(q, k, v, heads):
    """The transposes stand in helpers, whose text serves other callers too."""
    batch, _, inner = q.shape
    q = split_heads(q, batch, heads, inner // heads)
    k = split_heads(k, batch, heads, inner // heads)
    v = split_heads(v, batch, heads, inner // heads)
    out = mindiesd.attention_forward(q, k, v, head_first=True)
    return merge_heads(out)
