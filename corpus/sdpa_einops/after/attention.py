import mindiesd.ext
from einops import rearrange


def swapped(q, k, v):
    """Each pattern is a transpose and nothing else."""
    out = mindiesd.attention_forward(q, k, v)
    return out


def split(q, k, v, heads):
    """The patterns do more than swap, but they show four dimensions."""
    q, k, v = (rearrange(q, "b s (h d) -> b s h d", h=heads), rearrange(k, "b s (h d) -> b s h d", h=heads),
               rearrange(v, "b s (h d) -> b s h d", h=heads))
    out = mindiesd.attention_forward(q, k, v)
    return rearrange(out, "b s h d -> b s (h d)")


def one_head(q, k, v):
    """As the autoencoders of images do."""
    height = q.shape[2]
    q = rearrange(q, "b c h w -> b (h w) 1 c")
    k = rearrange(k, "b c h w -> b (h w) 1 c")
    v = rearrange(v, "b c h w -> b (h w) 1 c")
    out = mindiesd.attention_forward(q, k, v)
    return rearrange(out, "b (h w) 1 c -> b c h w", h=height)


def any_batch(q, k, v):
    """An ellipsis shows no rank."""
    q = rearrange(q, "... s h d -> ... h s d")
    k = rearrange(k, "... s h d -> ... h s d")
    v = rearrange(v, "... s h d -> ... h s d")
    return mindiesd.ext.attention_forward(q, k, v, head_first=True)
