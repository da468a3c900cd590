import mindiesd.ext
import torch
import torch.nn.functional as F
from einops import rearrange


def heads_made(q, k, v, heads):
    b, _, width = q.shape
    q, k, v = map(lambda t: t.view(b, -1, heads, width // heads), (q, k, v))
    out = mindiesd.attention_forward(q, k, v)
    return out.reshape(b, -1, width)


def by_pattern(x, heads):
    qkv = x.chunk(3, dim=-1)
    q, k, v = map(lambda t: rearrange(t, "b n (h d) -> b n h d", h=heads), qkv)
    out = mindiesd.attention_forward(q, k, v)
    return rearrange(out, "b n h d -> b n (h d)")


def named_again(q, k, v):
    x = mindiesd.attention_forward(q, k, v)
    return x


def other_names(a, b, c):
    q, k, v = a, b, c
    return mindiesd.attention_forward(q, k, v)


def copies(q, k, v, heads):
    q, k, v = map(
        lambda t: t.unflatten(-1, (heads, -1)),
        (q, k, v),
    )
    return mindiesd.attention_forward(q, k, v).flatten(2)


def one_of_them_kept(q, k, v):
    """The third value leaves the function as it is."""
    q, k, v = map(lambda t: t.permute(0, 2, 1, 3), (q, k, v))
    return mindiesd.attention_forward(q, k, k, head_first=True).permute(0, 2, 1, 3), v


def two_sequences(q, k, v):
    """Each turn takes one item of both."""
    q, k, v = map(lambda a, b: (a + b).permute(0, 2, 1, 3), (q, k, v), (q, k, v))
    return mindiesd.ext.attention_forward(q, k, v, head_first=True).permute(0, 2, 1, 3)


def with_a_default(q, k, v):
    """The default is made where the lambda stands."""
    q, k, v = map(lambda t, n=q.shape[0]: t.permute(0, 2, 1, 3) * n, (q, k, v))
    return mindiesd.ext.attention_forward(q, k, v, head_first=True).permute(0, 2, 1, 3)


def own_map(q, k, v, map):
    """Whatever is handed in as `map`."""
    q, k, v = map(lambda t: t.permute(0, 2, 1, 3), (q, k, v))
    return mindiesd.ext.attention_forward(q, k, v, head_first=True).permute(0, 2, 1, 3)


def read_later(q, k, v):
    """Nothing is unpacked here: the items are made one by one."""
    parts = map(lambda t: t.permute(0, 2, 1, 3), (q, k, v))
    q = next(parts)
    k, v = parts
    return mindiesd.ext.attention_forward(q, k, v, head_first=True).permute(0, 2, 1, 3)


def names_inside(q, k, v):
    """What the walrus names belongs to the lambda."""
    n = 2
    q, k, v = map(lambda t: (n := t.permute(0, 2, 1, 3)) * 1, (q, k, v))
    return mindiesd.ext.attention_forward(q, k, v, head_first=True).permute(0, 2, 1, 3) * n


def first_read_inside(q, k, v, shift):
    """Not followed, so read anew: `F` still means what it does everywhere."""
    q, k = map(lambda t: F.normalize(shift(t), dim=-1), (q, k))
    return mindiesd.ext.attention_forward(q, k, v, head_first=True)


def first_read_in_a_comprehension(q, k, v, shift):
    q, k = (F.normalize(shift(t), dim=-1) for t in (q, k))
    return mindiesd.ext.attention_forward(q, k, v, head_first=True)


def over_many_lines(q, k, v):
    """As a formatter lays it out."""
    a, b, c = q.view(2, 5, 3, 8), k.view(2, 5, 3, 8), v.view(2, 5, 3, 8)
    return mindiesd.attention_forward(a, b, c)
