import mindiesd

try:
    from flash_attn import flash_attn_func

    HAS_FLASH = True
except ImportError:
    flash_attn_func = None
    HAS_FLASH = False


def attend(q, k, v):
    return mindiesd.attention_forward(q, k, v), HAS_FLASH
