import math

import mindiesd.ext
import torch


def repeat_kv(x: torch.Tensor, n_rep: int) -> torch.Tensor:
    bs, slen, n_kv_heads, head_dim = x.shape
    if n_rep == 1:
        return x
    return (
        x[:, :, :, None, :]
        .expand(bs, slen, n_kv_heads, n_rep, head_dim)
        .reshape(bs, slen, n_kv_heads * n_rep, head_dim)
    )


def by_two(x):
    return repeat_kv(x, 2)


def as_heads(x, heads):
    if heads == 1:
        return x
    return x.view(x.shape[0], x.shape[1], heads, -1)


def either(x, flat):
    b, n, h, d = x.shape
    if flat:
        return x.flatten(2)
    return x.view(b, n, h, d)


@torch.compile
def decorated(x):
    b, n, h, d = x.shape
    return x.view(b, n, h, d)


def scores(q, keys, values, n):
    keys = repeat_kv(keys, n)
    values = repeat_kv(values, n)
    q, keys, values = q.transpose(1, 2), keys.transpose(1, 2), values.transpose(1, 2)
    return mindiesd.ext.attention_forward(
        q,
        keys,
        values,
        scale=1 / math.sqrt(q.shape[-1]),
        head_first=True,
        strides="BNSD",
    )


def through_another(q, k, v):
    k, v = by_two(k), by_two(v)
    b, n, h, d = q.shape
    return mindiesd.attention_forward(q, k, v).reshape(b, n, h * d)


def one_return_unknown(q, k, v, heads):
    """What `as_heads` is given comes back as it is where there is one head."""
    q, k, v = as_heads(q, heads), as_heads(k, heads), as_heads(v, heads)
    q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
    return mindiesd.ext.attention_forward(q, k, v, head_first=True).transpose(1, 2)


def returns_differ(q, k, v, flat):
    q, k, v = either(q, flat), either(k, flat), either(v, flat)
    q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
    return mindiesd.ext.attention_forward(q, k, v, head_first=True).transpose(1, 2)


def what_a_decorator_makes(q, k, v):
    q, k, v = decorated(q), decorated(k), decorated(v)
    q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
    return mindiesd.ext.attention_forward(q, k, v, head_first=True).transpose(1, 2)


def first_of(make):
    return lambda x: make(x)[0]


@first_of
def four_axes(x):
    return x.view(2, 2, -1, 4)


def what_an_own_decorator_makes(q):
    q = four_axes(q)
    return mindiesd.ext.attention_forward(
        q,
        q,
        q,
        scale=1.0,
        head_first=True,
        strides="BNSD",
    )
