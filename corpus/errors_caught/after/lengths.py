import contextlib

import mindiesd
from flash_attn import flash_attn_varlen_func


def in_the_call(q, k, v, cu, lengths):
    try:
        return flash_attn_varlen_func(q, k, v, cu, cu, int(lengths), 8)
    except ValueError:
        return None


def in_suppress(q, k, v, cu, lengths):
    out = None
    with contextlib.suppress(ValueError):
        out = flash_attn_varlen_func(q, k, v, cu, cu, lengths.item(), 8)
    return out


def its_name(q, k, v, cu, longest):
    try:
        return mindiesd.attention_forward_varlen(q, k, v, cu, cu)
    except ValueError:
        return None


def before_the_call(q, k, v, cu, lengths):
    try:
        longest = lengths.item()
        return mindiesd.attention_forward_varlen(q, k, v, cu, cu)
    except ValueError:
        return None


def handled(q, k, v, cu, lengths, failed):
    try:
        q = q * 2
    except ValueError:
        return mindiesd.attention_forward_varlen(q, k, v, cu, cu)


def finished(q, k, v, cu, lengths, log):
    try:
        return mindiesd.attention_forward_varlen(q, k, v, cu, cu)
    finally:
        log.close()


def under_an_if(q, k, v, cu, lengths):
    try:
        if lengths is not None:
            return flash_attn_varlen_func(q, k, v, cu, cu, int(lengths), 8)
    except ValueError:
        pass
    return q
