import mindiesd.ext


def attend(q, k, v):
    x = mindiesd.ext.softmax(
        mindiesd.ext.attention_forward(q, k, v, head_first=True),
        dim=-1,
        clamp_min=-5,
    )
    return x
