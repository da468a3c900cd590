import torch

try:
    from flash_attn import flash_attn_func

    HAS_FLASH = True
except ImportError:
    flash_attn_func = None
    HAS_FLASH = False


def attend(q, k, v):
    if HAS_FLASH and q.is_cuda:
        return flash_attn_func(q, k, v)
    weight = torch.softmax(torch.einsum("bnhd,bmhd->bhnm", q, k) * q.shape[-1] ** -0.5, dim=-1)
    return torch.einsum("bhnm,bmhd->bnhd", weight, v)
