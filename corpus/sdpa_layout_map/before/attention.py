import torch
import torch.nn.functional as F
from einops import rearrange


def heads_made(q, k, v, heads):
    b, _, width = q.shape
    q, k, v = map(lambda t: t.view(b, -1, heads, width // heads).transpose(1, 2), (q, k, v))
    out = F.scaled_dot_product_attention(q, k, v, dropout_p=0.0)
    return out.transpose(1, 2).reshape(b, -1, width)


def by_pattern(x, heads):
    qkv = x.chunk(3, dim=-1)
    q, k, v = map(lambda t: rearrange(t, "b n (h d) -> b h n d", h=heads), qkv)
    out = F.scaled_dot_product_attention(q, k, v)
    return rearrange(out, "b h n d -> b n (h d)")


def named_again(q, k, v):
    q, k, v = map(lambda x: rearrange(x, "b s h d -> b h s d"), (q, k, v))
    x = F.scaled_dot_product_attention(q, k, v)
    return rearrange(x, "b h s d -> b s h d")


def other_names(a, b, c):
    q, k, v = map(lambda x: x.permute(0, 2, 1, 3), (a, b, c))
    return F.scaled_dot_product_attention(q, k, v).permute(0, 2, 1, 3)


def copies(q, k, v, heads):
    q, k, v = map(
        lambda t: t.unflatten(-1, (heads, -1)).permute(0, 2, 1, 3).contiguous(),
        (q, k, v),
    )
    return F.scaled_dot_product_attention(q, k, v).permute(0, 2, 1, 3).flatten(2)


def one_of_them_kept(q, k, v):
    """The third value leaves the function as it is."""
    q, k, v = map(lambda t: t.permute(0, 2, 1, 3), (q, k, v))
    return F.scaled_dot_product_attention(q, k, k).permute(0, 2, 1, 3), v


def two_sequences(q, k, v):
    """Each turn takes one item of both."""
    q, k, v = map(lambda a, b: (a + b).permute(0, 2, 1, 3), (q, k, v), (q, k, v))
    return F.scaled_dot_product_attention(q, k, v).permute(0, 2, 1, 3)


def with_a_default(q, k, v):
    """The default is made where the lambda stands."""
    q, k, v = map(lambda t, n=q.shape[0]: t.permute(0, 2, 1, 3) * n, (q, k, v))
    return F.scaled_dot_product_attention(q, k, v).permute(0, 2, 1, 3)


def own_map(q, k, v, map):
    """Whatever is handed in as `map`."""
    q, k, v = map(lambda t: t.permute(0, 2, 1, 3), (q, k, v))
    return F.scaled_dot_product_attention(q, k, v).permute(0, 2, 1, 3)


def read_later(q, k, v):
    """Nothing is unpacked here: the items are made one by one."""
    parts = map(lambda t: t.permute(0, 2, 1, 3), (q, k, v))
    q = next(parts)
    k, v = parts
    return F.scaled_dot_product_attention(q, k, v).permute(0, 2, 1, 3)


def names_inside(q, k, v):
    """What the walrus names belongs to the lambda."""
    n = 2
    q, k, v = map(lambda t: (n := t.permute(0, 2, 1, 3)) * 1, (q, k, v))
    return F.scaled_dot_product_attention(q, k, v).permute(0, 2, 1, 3) * n


def first_read_inside(q, k, v, shift):
    """Not followed, so read anew: `F` still means what it does everywhere."""
    q, k = map(lambda t: F.normalize(shift(t), dim=-1), (q, k))
    return F.scaled_dot_product_attention(q, k, v)


def first_read_in_a_comprehension(q, k, v, shift):
    q, k = (F.normalize(shift(t), dim=-1) for t in (q, k))
    return F.scaled_dot_product_attention(q, k, v)


def over_many_lines(q, k, v):
    """As a formatter lays it out."""
    a, b, c = map(
        lambda t: t.transpose(1, 2),
        (
            q.view(2, 5, 3, 8),
            k.view(2, 5, 3, 8),
            v.view(2, 5, 3, 8),
        ),
    )
    return F.scaled_dot_product_attention(a, b, c).transpose(1, 2)
