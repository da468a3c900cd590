import mindiesd.ext

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
        return mindiesd.attention_forward(q, k, v)
    return mindiesd.ext.attention_forward(q, k, v, scale=q.shape[-1] ** -0.5, strides="BNSD")


def packed(q, k, v, lengths, longest):
    if attention_of_lengths is None:
        return attend(q[None], k[None], v[None])[0]
    return mindiesd.attention_forward_varlen(q, k, v, lengths, lengths)
