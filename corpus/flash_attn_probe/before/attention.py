import torch

try:
    from flash_attn import flash_attn_func

    HAS_FLASH = True
except ImportError:
    flash_attn_func = None
    HAS_FLASH = False

unpadded = attention_of_lengths = None
try:
    from flash_attn import flash_attn_varlen_func as attention_of_lengths
except ImportError:
    pass


def attend(q, k, v):
    if HAS_FLASH and q.is_cuda:
        return flash_attn_func(q, k, v)
    weight = torch.softmax(torch.einsum("bnhd,bmhd->bhnm", q, k) * q.shape[-1] ** -0.5, dim=-1)
    return torch.einsum("bhnm,bmhd->bnhd", weight, v)


def packed(q, k, v, lengths, longest):
    if attention_of_lengths is None:
        return attend(q[None], k[None], v[None])[0]
    return attention_of_lengths(q, k, v, lengths, lengths, longest, longest)
