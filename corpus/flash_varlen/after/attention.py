import mindiesd.ext
from flash_attn import flash_attn_varlen_func


def packed(q, k, v, cu_q, cu_k, longest_q, longest_k, scale=None):
    q, k, v = q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1)
    return mindiesd.attention_forward_varlen(
        q=q,
        k=k,
        v=v,
        cu_seqlens_q=cu_q,
        cu_seqlens_k=cu_k,
        softmax_scale=scale,
    )


def causal(q, k, v, cu, longest):
    return mindiesd.attention_forward_varlen(q, k, v, cu, cu, causal=True)


def positional(q, k, v, cu, longest, scale, causal):
    return mindiesd.attention_forward_varlen(
        q,
        k,
        v,
        cu,
        cu,
        softmax_scale=scale,
        causal=causal,
    )


def windowed(q, k, v, cu, longest, window):
    return mindiesd.ext.attention_forward_varlen(q, k, v, cu, cu, window_size=window)


def paged(q, k, v, cu, longest, table):
    return flash_attn_varlen_func(q, k, v, cu, cu, longest, longest, block_table=table)


def longest_of(q, k, v, cu, lengths):
    return mindiesd.attention_forward_varlen(q, k, v, cu, cu)


def other_max(q, k, v, cu, lengths, max):
    return flash_attn_varlen_func(q, k, v, cu, cu, max(lengths), max(lengths))


def keyed(q, k, v, cu, lengths, note):
    return flash_attn_varlen_func(q, k, v, cu, cu, max(lengths, key=note), 8)


def measured(q, k, v, cu, lengths):
    return mindiesd.attention_forward_varlen(
        q, k, v, cu, cu
    )


def listed(q, k, v, cu, lengths):
    return mindiesd.attention_forward_varlen(q, k, v, cu, cu)


def other_int(q, k, v, cu, lengths, int):
    return flash_attn_varlen_func(q, k, v, cu, cu, int(lengths.max()), int(lengths.max()))


def popped(q, k, v, cu, lengths):
    return flash_attn_varlen_func(q, k, v, cu, cu, lengths.pop().item(), 8)
