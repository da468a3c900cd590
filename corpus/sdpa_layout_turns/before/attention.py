import torch
import torch.nn.functional as F


def named_again(q, k, v):
    q, k, v = (x.permute(0, 2, 1, 3) for x in (q, k, v))
    out = F.scaled_dot_product_attention(q, k, v)
    return out.permute(0, 2, 1, 3)


def copies(a, b, c):
    q, k, v = [x.permute(0, 2, 1, 3).contiguous() for x in [a, b, c]]
    return F.scaled_dot_product_attention(q, k, v).permute(0, 2, 1, 3)


def heads_made(a, b, c, heads):
    query, key, value = (
        # one text for the three of them
        t.view(t.shape[0], -1, heads, t.shape[-1] // heads).transpose(1, 2)
        for t in (a, b, c)
    )
    out = F.scaled_dot_product_attention(query, key, value)
    return out.transpose(1, 2).flatten(2)


def parts(qkv, heads):
    qkv = qkv.unflatten(-1, (3, heads, -1)).unbind(2)
    q, k, v = (part.permute(0, 2, 1, 3) for part in qkv)
    return F.scaled_dot_product_attention(q, k, v).permute(0, 2, 1, 3)


def sequence_first(layers, mask=None):
    query, key, value = [x.permute(1, 2, 0, 3) for x in [layers, layers, layers]]
    if mask is None and query.shape[2] == key.shape[2]:
        context = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    else:
        context = F.scaled_dot_product_attention(query, key, value, mask)
    return context.permute(2, 0, 1, 3).flatten(2)


def one_of_them_kept(q, k, v):
    """The third value leaves the function as it is, so the text that makes all three stays."""
    q, k, v = (x.permute(0, 2, 1, 3) for x in (q, k, v))
    out = F.scaled_dot_product_attention(q, k, k)
    return out.permute(0, 2, 1, 3), v


def in_a_condition(q, k, v, flag):
    q, k, v = (x.permute(0, 2, 1, 3) for x in (q, k, v) if flag)
    return F.scaled_dot_product_attention(q, k, v).permute(0, 2, 1, 3)


def rotated(q, k, v):
    """What each turn does is more than to arrange."""
    q, k = (torch.roll(x.permute(0, 2, 1, 3), 1, 2) for x in (q, k))
    return F.scaled_dot_product_attention(q, k, v.permute(0, 2, 1, 3)).permute(0, 2, 1, 3)
