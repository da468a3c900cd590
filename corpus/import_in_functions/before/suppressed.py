import contextlib

with contextlib.suppress(ImportError):
    from flash_attn import flash_attn_func


class Names:
    from torch.nn.functional import gelu


def attend(q, k, v):
    return flash_attn_func(q, k, v)
