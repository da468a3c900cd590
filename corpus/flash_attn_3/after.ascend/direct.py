import mindiesd
from flash_attn_interface import flash_attn_func, flash_attn_varlen_func


def unpacked(q, k, v):
    out, lse = flash_attn_func(q, k, v, causal=True)
    return out.flatten(2)


def in_place(q, k, v, scale):
    b, s, n, d = q.shape
    x = mindiesd.attention_forward(q, k, v, scale=scale)
    return x.reshape(b, s, n * d)


def either(q, k, v):
    x = flash_attn_func(q, k, v, softmax_scale=0.125, window_size=(32, 32))
    if isinstance(x, tuple):
        x = x[0]
    return x


def either_and_lse(q, k, v):
    x = flash_attn_func(q, k, v)
    lse = None
    if isinstance(x, tuple):
        x, lse = x
    return x, lse


def lse_wanted(q, k, v):
    out, lse = flash_attn_func(q, k, v)
    return out, lse


def first_of_what(q, k, v):
    return flash_attn_func(q, k, v)[0]


def handed_on(q, k, v):
    return flash_attn_func(q, k, v)


def lengths(q, k, v, cu, n, used):
    out, _ = flash_attn_varlen_func(q, k, v, cu, cu, n, n, seqused_k=used)
    return out


def quantised(q, k, v, factor):
    return flash_attn_func(q, k, v, k_descale=factor).flatten(2)


def starred(q, k, v):
    x = mindiesd.attention_forward(q, k, v)
    return x.flatten(2)


def starred_and_read(q, k, v):
    x, *rest = flash_attn_func(q, k, v)
    return x, rest


def kept_in_parts(q, k, v, cu, n):
    out, lse = flash_attn_varlen_func(q, k, v, cu, cu, n, n, causal=True, return_attn_probs=True)
    return out, lse.transpose(0, 1)
