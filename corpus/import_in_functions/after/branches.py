import mindiesd.ext
import torch


def attend(q, k, v, fused):
    if fused:
        scale = q.shape[-1] ** -0.5

        return mindiesd.attention_forward(q, k, v, scale=scale)
    return torch.einsum("bqhd,bkhd->bhqk", q, k)


def probe(x, fused):
    if fused:
        from torch.nn.functional import gelu
    else:
        gelu = None
    return gelu(x)


def only(x, fused):
    if fused:
        return mindiesd.ext.silu(x)
    return None
