"""Attention with the logarithm of the sum of exponentials, by which results over parts of the keys are put together.
Entry points: ``attention_with_lse``, ``attention_varlen_with_lse``.

Of the results o1, o2 over two parts of the keys and their logarithms l1, l2, the one over all keys is
(exp(l1) o1 + exp(l2) o2) / (exp(l1) + exp(l2)), with the logarithm log(exp(l1) + exp(l2)): ring attention
(arXiv 2310.01889), caches that are kept in parts.
"""

import math

from .. import _forms, _ops
from .._checks import expect_bool, expect_tensor, flag, is_either
from .._eager import eager
from ..utils import ParametersInvalid
from .attention import (
    _broadcast_heads,
    _check_sizes,
    _checked_operands,
    _mask,
    _scale,
    _slopes,
    _softcap,
    _window,
    varlen_arguments,
)


def _as_flash_attn_2(result):
    """flash-attn 2's results: +infinity for a query that sees no key, None for the probabilities."""
    out, lse = result
    return out, lse.masked_fill(lse == -math.inf, math.inf), None


@eager
def _with_lse(query, key, value, scale, attn_mask, head_first, causal, window_size, softcap, alibi_slopes):
    for name, operand in (("query", query), ("key", key), ("value", value)):
        expect_tensor(name, operand)
        if operand.dim() != 4:
            raise ParametersInvalid(
                f"{name} must have 4 dimensions [batch, sequence, heads, head_dim], but has {operand.dim()}."
            )
    expect_tensor("attn_mask", attn_mask, optional=True)
    query, key, value = _checked_operands(query, key, value)
    expect_bool("head_first", head_first)
    head, sequence = (1, 2) if head_first else (2, 1)
    _check_sizes(query, key, value, sequence)
    batch, (heads, shared) = query.shape[0], _broadcast_heads(*(t.shape[head] for t in (query, key, value)))
    for name, operand in (("key", key), ("value", value)):
        if not is_either(operand.shape[0], 1, batch) or operand.shape[head] != shared:
            raise ParametersInvalid(
                f"{name} must have batch 1 or {batch} and {shared} heads, but has shape {list(operand.shape)}."
            )
    if query.shape[head] != heads:
        raise ParametersInvalid(f"query must have {heads} heads, but has shape {list(query.shape)}.")
    left, right = _window(window_size)
    if attn_mask is not None:
        attn_mask = _mask(attn_mask, query, key, sequence, "query_key")
    return _forms.attention_with_lse(
        query, key, value, attn_mask, _scale(scale, query.shape[-1]), head_first,
        _ops.CAUSAL_BOTTOM_RIGHT if flag("causal", causal) else _ops.CAUSAL_NONE, left, right,
        _softcap(softcap), _slopes(alibi_slopes, query, heads, batch),
    )  # fmt: skip


def attention_with_lse(
    query,
    key,
    value,
    scale=None,
    *,
    attn_mask=None,
    head_first=False,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    alibi_slopes=None,
    flash_attn_2=False,
):
    """``attention_forward`` and, for each query, the logarithm of the sum of the exponentials of its scores, as
    flash-attn's functions give with ``return_attn_probs=True``.

    Args:
        query, key, value: [B, S, N, D], or [B, N, S, D] with ``head_first``. Fewer key heads than query heads
            are shared by groups of query heads; key and value may have one batch.
        attn_mask, scale, window_size, softcap, alibi_slopes: as ``attention_forward`` has them.
        causal: the last query sees the last key.
        flash_attn_2: gives the three results of flash-attn 2.

    Returns:
        (out, lse): [B, Sq, N, Dv] or [B, N, Sq, Dv] of query's type, and [B, N, Sq] of float32 (float64 for
        operands of float64), both dense. A query that sees no key has zeros and -infinity. With ``flash_attn_2``
        (out, lse, None), and +infinity for such a query.

    Raises:
        ParametersInvalid: an argument has the wrong type, shape, device or value.
    """
    expect_bool("flash_attn_2", flash_attn_2)
    result = _with_lse(
        query, key, value, scale, attn_mask, head_first, causal, window_size, softcap, alibi_slopes
    )
    return _as_flash_attn_2(result) if flash_attn_2 else result


@eager
def _varlen_with_lse(q, k, v, cu_seqlens_q, cu_seqlens_k, softmax_scale, causal, window_size, softcap, alibi_slopes):
    arguments = varlen_arguments(
        q, k, v, cu_seqlens_q, cu_seqlens_k, softmax_scale, causal, window_size, softcap, alibi_slopes
    )
    return _forms.attention_varlen_with_lse(*arguments)


def attention_varlen_with_lse(
    q,
    k,
    v,
    cu_seqlens_q,
    cu_seqlens_k,
    *,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    alibi_slopes=None,
    flash_attn_2=False,
):
    """``attention_with_lse`` over packed sequences; the arguments are those of ``attention_forward_varlen``.

    Returns:
        (out, lse): [Tq, N, Dv] and [N, Tq] of float32 (float64 for operands of float64), both dense. Rows of no
        sequence are zeros, their logarithms those of queries that see no key. With ``flash_attn_2`` as
        ``attention_with_lse``.

    Raises:
        ParametersInvalid: an argument has the wrong type, shape, device or value.
    """
    expect_bool("flash_attn_2", flash_attn_2)
    result = _varlen_with_lse(
        q, k, v, cu_seqlens_q, cu_seqlens_k, softmax_scale, causal, window_size, softcap, alibi_slopes
    )
    return _as_flash_attn_2(result) if flash_attn_2 else result
