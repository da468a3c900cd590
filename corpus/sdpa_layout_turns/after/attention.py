import mindiesd.ext
import torch


def named_again(q, k, v):
    out = mindiesd.attention_forward(q, k, v)
    return out


def copies(a, b, c):
    q, k, v = a, b, c
    return mindiesd.attention_forward(q, k, v)


def heads_made(a, b, c, heads):
    query, key, value = (
        # one text for the three of them
        t.view(t.shape[0], -1, heads, t.shape[-1] // heads)
        for t in (a, b, c)
    )
    out = mindiesd.attention_forward(query, key, value)
    return out.flatten(2)


def parts(qkv, heads):
    qkv = qkv.unflatten(-1, (3, heads, -1)).unbind(2)
    q, k, v = qkv
    return mindiesd.attention_forward(q, k, v)


def sequence_first(layers, mask=None):
    query, key, value = [x.permute(1, 0, 2, 3) for x in [layers, layers, layers]]
    if mask is None and query.shape[1] == key.shape[1]:
        context = mindiesd.ext.attention_forward(query, key, value, is_causal=True)
    else:
        context = mindiesd.attention_forward(query, key, value, attn_mask=mask)
    return context.permute(1, 0, 2, 3).flatten(2)


def one_of_them_kept(q, k, v):
    """The third value leaves the function as it is, so the text that makes all three stays."""
    q, k, v = (x.permute(0, 2, 1, 3) for x in (q, k, v))
    out = mindiesd.attention_forward(q, k, k, head_first=True)
    return out.permute(0, 2, 1, 3), v


def in_a_condition(q, k, v, flag):
    q, k, v = (x.permute(0, 2, 1, 3) for x in (q, k, v) if flag)
    return mindiesd.ext.attention_forward(q, k, v, head_first=True).permute(0, 2, 1, 3)


def rotated(q, k, v):
    """What each turn does is more than to arrange."""
    q, k = (torch.roll(x.permute(0, 2, 1, 3), 1, 2) for x in (q, k))
    return mindiesd.ext.attention_forward(
        q,
        k,
        v.permute(0, 2, 1, 3),
        head_first=True,
    ).permute(0, 2, 1, 3)
