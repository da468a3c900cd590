import torch


def attend(q, k, v, fused):
    if fused:
        scale = q.shape[-1] ** -0.5

        from flash_attn import flash_attn_func

        return flash_attn_func(q, k, v, softmax_scale=scale)
    return torch.einsum("bqhd,bkhd->bhqk", q, k)


def probe(x, fused):
    if fused:
        from torch.nn.functional import gelu
    else:
        gelu = None
    return gelu(x)


def only(x, fused):
    if fused:
        from torch.nn.functional import silu

        return silu(x)
    return None
