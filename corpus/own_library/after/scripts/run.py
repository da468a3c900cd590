import mindiesd.ext
import xformers.ops as xops
from einops import rearrange


def attend(q, k, v):
    q, k, v = (rearrange(t, (2, 8, 4, 16)) for t in (q, k, v))
    return xops.memory_efficient_attention(q, k, v)


def attend_turned(q, k, v):
    q, k, v = (rearrange(t, "b s n d -> b n s d") for t in (q, k, v))
    out = mindiesd.ext.attention_forward(q, k, v, head_first=True)
    return rearrange(out, "b n s d -> b s n d")
