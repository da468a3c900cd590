import mindiesd
import torch

try:
    import flash_attn_interface

    FLASH_ATTN_3_AVAILABLE = True
except ModuleNotFoundError:
    FLASH_ATTN_3_AVAILABLE = False

try:
    import flash_attn

    FLASH_ATTN_2_AVAILABLE = True
except ModuleNotFoundError:
    FLASH_ATTN_2_AVAILABLE = False


def flash_attention(q, k, v, q_lens, k_lens, softmax_scale=None, causal=False, deterministic=False, version=None):
    """q, k, v: [B, L, N, D]."""
    b, lq, out_dtype = q.size(0), q.size(1), q.dtype
    q = torch.cat([u[:n] for u, n in zip(q, q_lens)])
    k = torch.cat([u[:n] for u, n in zip(k, k_lens)])
    v = torch.cat([u[:n] for u, n in zip(v, k_lens)])
    cu_q = torch.cat([q_lens.new_zeros([1]), q_lens]).cumsum(0, dtype=torch.int32)
    cu_k = torch.cat([k_lens.new_zeros([1]), k_lens]).cumsum(0, dtype=torch.int32)

    # apply attention
    if (version is None or version == 3) and FLASH_ATTN_3_AVAILABLE:
        # Note: dropout_p, window_size are not supported in FA3 now.
        x = mindiesd.attention_forward_varlen(
            q=q,
            k=k,
            v=v,
            cu_seqlens_q=cu_q,
            cu_seqlens_k=cu_k,
            softmax_scale=softmax_scale,
            causal=causal).unflatten(0, (b, lq))
    else:
        assert FLASH_ATTN_2_AVAILABLE
        x = mindiesd.attention_forward_varlen(
            q=q,
            k=k,
            v=v,
            cu_seqlens_q=cu_q,
            cu_seqlens_k=cu_k,
            softmax_scale=softmax_scale,
            causal=causal).unflatten(0, (b, lq))
    return x.type(out_dtype)
