"""Attention functions of libraries that need a GPU, written out in plain operations of torch.

Entry point: `special`, for extract.Sources. A few parts of diffusers and transformers are imported,
unmigrated, where the sources of any package ask for them.
"""

import importlib
import types

import torch

REAL = (
    "diffusers.models.embeddings.apply_rotary_emb",
    "diffusers.models.attention_dispatch.dispatch_attention_fn",
    "transformers.models.qwen3.modeling_qwen3.Qwen3RMSNorm",
)


def special(name: str):
    """The object for a qualified name, or None."""
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    below = {n.removeprefix(f"{name}."): f for n, f in FUNCTIONS.items() if n.startswith(f"{name}.")}
    if below:
        return types.SimpleNamespace(**{n: f for n, f in below.items() if "." not in n})
    if name in REAL:
        module, _, attribute = name.rpartition(".")
        return getattr(importlib.import_module(module), attribute, None)
    return None


def _attend(q, k, v, scale, causal, window, softcap=0.0, with_lse=False):
    """q, k, v [B, S, N, D]; causal aligns the last query with the last key."""
    group = q.shape[2] // k.shape[2]
    k, v = (t.repeat_interleave(group, dim=2) for t in (k, v))
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    scores = torch.einsum("bsnd,btnd->bnst", q, k) * factor
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    here = torch.arange(q.shape[1])[:, None] + k.shape[1] - q.shape[1]
    there = torch.arange(k.shape[1])[None]
    left, right = window
    allowed = torch.ones(q.shape[1], k.shape[1], dtype=torch.bool)
    if causal:
        allowed &= there <= here
    if left >= 0:
        allowed &= there >= here - left
    if right >= 0:
        allowed &= there <= here + right
    scores = scores.masked_fill(~allowed, float("-inf")).float()
    weights = torch.softmax(scores, dim=-1)
    out = torch.einsum("bnst,btnd->bsnd", torch.nan_to_num(weights).to(v.dtype), v)
    return (out, torch.logsumexp(scores, dim=-1)) if with_lse else out


def flash_attn_func(
    q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0,
    alibi_slopes=None, deterministic=False, return_attn_probs=False,
):  # fmt: skip
    assert q.dim() == 4 and alibi_slopes is None
    assert isinstance(causal, bool)
    result = _attend(q, k, v, softmax_scale, causal, tuple(window_size), softcap, return_attn_probs)
    return (*result, None) if return_attn_probs else result


def flash_attn_varlen_func(
    q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p=0.0,
    softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0, alibi_slopes=None,
    deterministic=False, return_attn_probs=False, block_table=None,
):  # fmt: skip
    assert q.dim() == 3 and isinstance(causal, bool) and not return_attn_probs
    assert alibi_slopes is None and block_table is None
    starts = [t.tolist() for t in (cu_seqlens_q, cu_seqlens_k)]
    parts = [
        _attend(
            *(t[None] for t in (q[a:b], k[c:d], v[c:d])), softmax_scale, causal, tuple(window_size)
        )[0]
        for a, b, c, d in zip(starts[0], starts[0][1:], starts[1], starts[1][1:], strict=False)
    ]
    return torch.cat(parts)


def flash_attn_3_func(
    q, k, v, softmax_scale=None, causal=False, qv=None, q_descale=None, k_descale=None,
    v_descale=None, window_size=(-1, -1), attention_chunk=0, softcap=0.0, return_attn_probs=False,
):  # fmt: skip
    assert q.dim() == 4 and isinstance(causal, bool) and qv is None and attention_chunk == 0
    return _attend(q, k, v, softmax_scale, causal, tuple(window_size), softcap, return_attn_probs)


def memory_efficient_attention(query, key, value, attn_bias=None, p=0.0, scale=None, *, op=None):
    bias = attn_bias
    if query.dim() == 3:
        query, key, value = (t[:, None] for t in (query, key, value))
        out = torch.nn.functional.scaled_dot_product_attention(
            query, key, value, None if bias is None else bias[:, None], scale=scale
        )
        return out[:, 0]
    query, key, value = (t.transpose(1, 2) for t in (query, key, value))
    return torch.nn.functional.scaled_dot_product_attention(
        query, key, value, bias, scale=scale
    ).transpose(1, 2)


FUNCTIONS = {
    "flash_attn.flash_attn_func": flash_attn_func,
    "flash_attn.flash_attn_varlen_func": flash_attn_varlen_func,
    "flash_attn.flash_attn_interface.flash_attn_func": flash_attn_func,
    "flash_attn.flash_attn_interface.flash_attn_varlen_func": flash_attn_varlen_func,
    "flash_attn_interface.flash_attn_func": flash_attn_3_func,
    "xformers.ops.memory_efficient_attention": memory_efficient_attention,
}
