import contextlib

import mindiesd


def suppressed(q, k, v):
    with contextlib.suppress(ImportError):
        from flash_attn import flash_attn_func
    return mindiesd.attention_forward(q, k, v)


def opened(q, k, v, file):
    with open(file):
        from flash_attn import flash_attn_func
    return mindiesd.attention_forward(q, k, v)


def either(q, k, v, other):
    flash_attn_func = other
    with contextlib.suppress(ImportError):
        from flash_attn import flash_attn_func
    return flash_attn_func(q, k, v)
