import mindiesd.ext


def nested(q, k, v):
    """Attention over the result of attention."""
    return mindiesd.ext.attention_forward(
        mindiesd.ext.attention_forward(q, k, v, head_first=True),
        k,
        v,
        head_first=True,
    )
