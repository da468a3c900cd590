import mindiesd.ext


def inner_in_an_argument(q, k, v, b, n, d):
    q, k, v = q.view(b, -1, n, d), k.view(b, -1, n, d), v.view(b, -1, n, d)
    x = mindiesd.attention_forward(
        mindiesd.attention_forward(q, k, v, head_first=True), k, v, head_first=True
    )
    return x


def inner_in_what_goes(q, k, v, cu, longest):
    return mindiesd.attention_forward_varlen(
        q,
        k,
        v,
        cu,
        cu,
    )


def three_deep(self, q, k, v):
    x = mindiesd.ext.softmax(
        mindiesd.ext.attention_forward(q, mindiesd.ext.softmax(k, dim=-1, clamp_min=-5), v, head_first=True),
        dim=-1,
        clamp_min=-5,
    )
    return x
