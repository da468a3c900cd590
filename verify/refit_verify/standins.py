"""Attention functions of packages that need a GPU, in plain operations of torch.

Entry point: `find`. Where such a package is not installed, code that calls it can be run all the
same; what the functions compute is what their documentation says. Arguments that are not written out
here raise. Those of FlashAttention 3 are not here, as what they return depends on the version.
"""

from __future__ import annotations

import torch


def _group(key: torch.Tensor, heads: int, axis: int) -> torch.Tensor:
    return key.repeat_interleave(heads // key.shape[axis], dim=axis)


def _attend(q, k, v, scale, causal, window, softcap, slopes=None):
    """q [B, Sq, N, D], k and v [B, Sk, Nk, D]. The last query sees as far as the last key."""
    k, v = _group(k, q.shape[2], 2), _group(v, q.shape[2], 2)
    wide = torch.promote_types(q.dtype, torch.float32)
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    scores = torch.einsum("bsnd,btnd->bnst", q.to(wide), k.to(wide)) * factor
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    rows = torch.arange(q.shape[1], device=q.device)[:, None] + k.shape[1] - q.shape[1]
    columns = torch.arange(k.shape[1], device=q.device)[None]
    if slopes is not None:
        bias = -(rows - columns).abs() * slopes.to(wide)[..., None, None]
        scores = scores + (bias if slopes.dim() == 2 else bias[None])
    left, right = window
    right = min(right, 0) if causal and right >= 0 else 0 if causal else right
    kept = torch.ones_like(rows - columns, dtype=torch.bool)
    if left >= 0:
        kept &= columns >= rows - left
    if right >= 0:
        kept &= columns <= rows + right
    scores = scores.masked_fill(~kept, float("-inf"))
    weights = torch.softmax(scores, dim=-1).nan_to_num()
    sums = torch.logsumexp(scores, dim=-1).float()
    # A query that sees no key has +infinity.
    sums = sums.masked_fill(~kept.any(-1), float("inf"))
    return torch.einsum("bnst,btnd->bsnd", weights, v.to(wide)).to(q.dtype), sums


def _without_dropout(dropout_p) -> None:
    if dropout_p:
        raise NotImplementedError("dropout is not stood in for")


def flash_attn_func(
    q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0,
    alibi_slopes=None, deterministic=False, return_attn_probs=False,
):  # fmt: skip
    _without_dropout(dropout_p)
    _shaped(4, q, k, v)
    out, lse = _attend(q, k, v, softmax_scale, causal, window_size, softcap, alibi_slopes)
    return (out, lse, None) if return_attn_probs else out


def flash_attn_qkvpacked_func(qkv, *args, **kwargs):
    return flash_attn_func(*qkv.unbind(2), *args, **kwargs)


def flash_attn_kvpacked_func(q, kv, *args, **kwargs):
    return flash_attn_func(q, *kv.unbind(2), *args, **kwargs)


def flash_attn_varlen_func(
    q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p=0.0,
    softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0, alibi_slopes=None,
    deterministic=False, return_attn_probs=False, block_table=None,
):  # fmt: skip
    _without_dropout(dropout_p)
    _shaped(3, q, k, v)
    if block_table is not None:
        raise NotImplementedError("a table of blocks is not stood in for")
    out, lse = torch.zeros_like(q), q.new_full((q.shape[1], q.shape[0]), float("inf"), dtype=torch.float32)
    queries, keys = cu_seqlens_q.tolist(), cu_seqlens_k.tolist()
    for i in range(len(queries) - 1):
        here, there = slice(queries[i], queries[i + 1]), slice(keys[i], keys[i + 1])
        own = alibi_slopes if alibi_slopes is None or alibi_slopes.dim() == 1 else alibi_slopes[i]
        part, sums = _attend(
            q[None, here], k[None, there], v[None, there], softmax_scale, causal, window_size, softcap, own
        )
        out[here], lse[:, here] = part[0], sums[0]
    return (out, lse, None) if return_attn_probs else out


def flash_attn_varlen_qkvpacked_func(qkv, cu_seqlens, max_seqlen, *args, **kwargs):
    q, k, v = qkv.unbind(1)
    return flash_attn_varlen_func(q, k, v, cu_seqlens, cu_seqlens, max_seqlen, max_seqlen, *args, **kwargs)


def flash_attn_varlen_kvpacked_func(q, kv, *args, **kwargs):
    return flash_attn_varlen_func(q, *kv.unbind(1), *args, **kwargs)


def memory_efficient_attention(query, key, value, attn_bias=None, p=0.0, scale=None, *, op=None):
    _without_dropout(p)
    ranks = query.dim()
    if ranks == 3:
        query, key, value = (one[:, :, None] for one in (query, key, value))
        attn_bias = None if attn_bias is None else attn_bias[:, None]
    _shaped(4, query, key, value)
    out = torch.nn.functional.scaled_dot_product_attention(
        *(one.transpose(1, 2) for one in (query, key, value)), attn_mask=attn_bias, scale=scale
    ).transpose(1, 2)
    return out[:, :, 0] if ranks == 3 else out


def _shaped(rank: int, *operands: torch.Tensor) -> None:
    for one in operands:
        if one.dim() != rank:
            raise ValueError(f"expected {rank} dimensions, found {one.dim()}")


_FLASH = {
    one.__name__: one
    for one in (
        flash_attn_func, flash_attn_qkvpacked_func, flash_attn_kvpacked_func, flash_attn_varlen_func,
        flash_attn_varlen_qkvpacked_func, flash_attn_varlen_kvpacked_func,
    )
}  # fmt: skip
_FUNCTIONS = {
    **{f"flash_attn.{name}": one for name, one in _FLASH.items()},
    **{f"flash_attn.flash_attn_interface.{name}": one for name, one in _FLASH.items()},
    "xformers.ops.memory_efficient_attention": memory_efficient_attention,
}


def find(name: str):
    """The function for a qualified name, None where there is none."""
    return _FUNCTIONS.get(name)
