from flash_attn import flash_attn_varlen_func


def packed(q, k, v, cu_q, cu_k, longest_q, longest_k, scale=None):
    q, k, v = q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1)
    return flash_attn_varlen_func(
        q=q,
        k=k,
        v=v,
        cu_seqlens_q=cu_q,
        cu_seqlens_k=cu_k,
        max_seqlen_q=longest_q,
        max_seqlen_k=longest_k,
        softmax_scale=scale,
    )


def causal(q, k, v, cu, longest):
    return flash_attn_varlen_func(q, k, v, cu, cu, longest, longest, causal=True)


def positional(q, k, v, cu, longest, scale, causal):
    return flash_attn_varlen_func(q, k, v, cu, cu, longest, longest, 0.0, scale, causal)


def windowed(q, k, v, cu, longest, window):
    return flash_attn_varlen_func(q, k, v, cu, cu, longest, longest, window_size=window)


def paged(q, k, v, cu, longest, table):
    return flash_attn_varlen_func(q, k, v, cu, cu, longest, longest, block_table=table)


def longest_of(q, k, v, cu, lengths):
    return flash_attn_varlen_func(q, k, v, cu, cu, max(lengths), max(lengths))


def other_max(q, k, v, cu, lengths, max):
    return flash_attn_varlen_func(q, k, v, cu, cu, max(lengths), max(lengths))


def keyed(q, k, v, cu, lengths, note):
    return flash_attn_varlen_func(q, k, v, cu, cu, max(lengths, key=note), 8)


def measured(q, k, v, cu, lengths):
    return flash_attn_varlen_func(
        q, k, v, cu, cu, (cu[1:] - cu[:-1]).max().item(), int(lengths.max())
    )


def listed(q, k, v, cu, lengths):
    return flash_attn_varlen_func(q, k, v, cu, cu, max(lengths.tolist()), max(lengths).item())


def other_int(q, k, v, cu, lengths, int):
    return flash_attn_varlen_func(q, k, v, cu, cu, int(lengths.max()), int(lengths.max()))


def popped(q, k, v, cu, lengths):
    return flash_attn_varlen_func(q, k, v, cu, cu, lengths.pop().item(), 8)
