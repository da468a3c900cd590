import torch.nn.functional as F
from einops import rearrange


def swapped(q, k, v):
    """Each pattern is a transpose and nothing else."""
    q = rearrange(q, "b s h d -> b h s d")
    k = rearrange(k, "b s h d -> b h s d")
    v = rearrange(v, "b s h d -> b h s d")
    out = F.scaled_dot_product_attention(q, k, v)
    return rearrange(out, "b h s d -> b s h d")


def split(q, k, v, heads):
    """The patterns do more than swap, but they show four dimensions."""
    q, k, v = (rearrange(q, "b s (h d) -> b h s d", h=heads), rearrange(k, "b s (h d) -> b h s d", h=heads),
               rearrange(v, "b s (h d) -> b h s d", h=heads))
    out = F.scaled_dot_product_attention(q, k, v)
    return rearrange(out, "b h s d -> b s (h d)")


def one_head(q, k, v):
    """As the autoencoders of images do."""
    height = q.shape[2]
    q = rearrange(q, "b c h w -> b 1 (h w) c").contiguous()
    k = rearrange(k, "b c h w -> b 1 (h w) c").contiguous()
    v = rearrange(v, "b c h w -> b 1 (h w) c").contiguous()
    out = F.scaled_dot_product_attention(q, k, v)
    return rearrange(out, "b 1 (h w) c -> b c h w", h=height)


def any_batch(q, k, v):
    """An ellipsis shows no rank."""
    q = rearrange(q, "... s h d -> ... h s d")
    k = rearrange(k, "... s h d -> ... h s d")
    v = rearrange(v, "... s h d -> ... h s d")
    return F.scaled_dot_product_attention(q, k, v)
