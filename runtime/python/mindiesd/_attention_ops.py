"""The torch operators of attention, which ``_ops`` registers: schemas, implementations and shape functions. Entry
points: ``OPERATORS``, ``attention_of_torch``, ``with_lse_of_torch``."""

import torch

from . import _backends, _library, _math, _strides
from ._served import backend


def dense_last(tensor):
    return tensor if tensor.stride(-1) == 1 or tensor.shape[-1] <= 1 else tensor.contiguous()


def _attention_output(query, value, head_first, by_heads):
    """BSND: dense. BNSD: the stride order of the query, as torch's has. With ``by_heads`` dense as [B, N, S, D] in
    both, as a product of matrices is."""
    width = value.shape[-1]
    if by_heads:
        sizes = query.shape[:-1] if head_first else query.transpose(1, 2).shape[:-1]
        output = query.new_empty((*sizes, width))
        return output if head_first else output.transpose(1, 2)
    if not head_first:
        return query.new_empty((*query.shape[:-1], width))
    sizes = query.shape[:-1]
    if query.shape[-1] == 0 or query.stride(-1) != 1 and query.shape[-1] > 1:  # a copy is what is computed with
        return query.new_empty((*sizes, width))
    order = _strides.elementwise(sizes, query.select(-1, 0))
    return query.new_empty_strided((*sizes, width), [*(s * width for s in order), 1])


def _attention(
    query, key, value, attn_mask, scale, head_first, causal, left, right, softcap, slopes, choice,
    by_heads, out=None,
):  # fmt: skip
    if backend(query, key, value, attn_mask) == "kernels":
        query, key, value = dense_last(query), dense_last(key), dense_last(value)
        output = _attention_output(query, value, head_first, by_heads) if out is None else out
        tensors = dict(
            query=query, key=key, value=value, output=output, mask=attn_mask, alibi_slopes=slopes
        )
        options = dict(
            scale=scale, softcap=softcap, window_left=left, window_right=right,
            layout=int(head_first), causal=causal,
        )  # fmt: skip
        number = _backends.choose(_backends.CHOICES[choice], tensors, options)
        if number == _backends.TORCH:
            return _torchs(tensors, options, output) if out is None else _torchs_into(tensors, options, out)
        # A back end may find only when it is launched that it does not compute the problem.
        for chosen in () if number is None else (number, 0) if number else (0,):
            if _library.attention(tensors, **options, backend=chosen):
                return output
    result = attention_of_torch(
        query, key, value, attn_mask, scale, head_first, causal, left, right, softcap, slopes,
        by_heads, query.is_cuda,
    )  # fmt: skip
    return result if out is None else out.copy_(result)


def _attention_into(*arguments):
    _attention(*arguments)


def attention_of_torch(
    query, key, value, attn_mask, scale, head_first, causal, left, right, softcap, slopes, by_heads,
    fused,
):  # fmt: skip
    """The operator's result by torch's functions; ``fused``: by its own attention where that computes the
    same."""
    output = _attention_output(query, value, head_first, by_heads)
    if not head_first:
        query, key, value = (t.transpose(1, 2) for t in (query, key, value))
    rest = (causal, left, right, softcap, slopes)
    if fused and _math.fused_computes(query, key, attn_mask, *rest):
        result = _math.fused_attention(query, key, value, attn_mask, scale, causal)
    else:
        result = _math.attention(query, key, value, attn_mask, scale, *rest)
    return output.copy_(result if head_first else result.transpose(1, 2))


def _torchs_into(tensors, options, out):
    """torch's function gives a tensor of its own, which is copied."""
    result = _backends.torch_attention({n: t for n, t in tensors.items() if n != "output" and t is not None}, options)
    return out.copy_(result if options["layout"] else result.transpose(1, 2))


class _TorchsCall:
    """``repeat``: a function of the operands; ``recipe``: what operators.cpp makes the call from, or None."""

    def __init__(self, repeat, recipe):
        self.repeat, self.recipe = repeat, recipe


def _torchs(tensors, options, output):
    """torch's function, its result as our own lies in memory; later calls repeat this and nothing else."""
    given = {n: t for n, t in tensors.items() if n != "output" and t is not None}
    names, shape, strides = tuple(given), output.shape, output.stride()
    attend = _backends.torch_repeat(tensors, options)

    def repeat(*operands):
        result = attend(*operands) if attend else _general(dict(zip(names, operands)))
        if result.stride() == strides:
            return result
        return torch.empty_strided(
            shape, strides, dtype=result.dtype, device=result.device
        ).copy_(result)

    def _general(operands):
        result = _backends.torch_attention(operands, options)
        return result if options["layout"] else result.transpose(1, 2)

    result = repeat(*given.values())
    if _library.recorder.launches is not None:
        recipe = None
        if attend and attend(*given.values()).stride() == strides:
            recipe = (bool(options["layout"]), bool(options["causal"]), float(options["scale"]))
        _library.recorder.launches.append((_TorchsCall(repeat, recipe), given, None))
    return result


def _attention_fake(
    query, key, value, attn_mask, scale, head_first, causal, left, right, softcap, slopes, choice,
    by_heads,
):  # fmt: skip
    return _attention_output(query, value, head_first, by_heads)


def _attention_varlen(
    query, key, value, cu_query, cu_key, scale, causal, left, right, softcap, slopes
):
    output = query.new_empty((*query.shape[:-1], value.shape[-1]))
    if backend(query, key, value) == "kernels":
        query, key, value = dense_last(query), dense_last(key), dense_last(value)
        tensors = dict(
            query=query, key=key, value=value, output=output, cu_seqlens_query=cu_query,
            cu_seqlens_key=cu_key, alibi_slopes=slopes,
        )  # fmt: skip
        if _library.attention_varlen(
            tensors, scale=scale, softcap=softcap, window_left=left, window_right=right,
            causal=causal,
        ):  # fmt: skip
            return output
    return _math.attention_varlen(
        query, key, value, cu_query, cu_key, scale, causal, left, right, softcap, slopes, output
    )


def _attention_varlen_fake(
    query, key, value, cu_query, cu_key, scale, causal, left, right, softcap, slopes
):
    return query.new_empty((*query.shape[:-1], value.shape[-1]))


def lse_type(query):
    return torch.float64 if query.dtype == torch.float64 else torch.float32


def _lse_outputs(query, value, head_first):
    sizes = query.shape[:-1] if head_first else query.transpose(1, 2).shape[:-1]
    output = query.new_empty((*query.shape[:-1], value.shape[-1]))
    return output, query.new_empty(sizes, dtype=lse_type(query))


def _attention_with_lse(
    query, key, value, attn_mask, scale, head_first, causal, left, right, softcap, slopes
):
    if backend(query, key, value, attn_mask) == "kernels" and value.shape[-1] > 0:
        query, key, value = dense_last(query), dense_last(key), dense_last(value)
        output, lse = _lse_outputs(query, value, head_first)
        tensors = dict(
            query=query, key=key, value=value, output=output, mask=attn_mask, alibi_slopes=slopes, lse=lse
        )
        if _library.attention(
            tensors, scale=scale, softcap=softcap, window_left=left, window_right=right,
            layout=int(head_first), causal=causal,
        ):  # fmt: skip
            return output, lse
    return with_lse_of_torch(
        query, key, value, attn_mask, scale, head_first, causal, left, right, softcap, slopes
    )


def with_lse_of_torch(query, key, value, attn_mask, scale, head_first, *rest):
    """The operator's results by torch's functions."""
    if not head_first:
        query, key, value = (t.transpose(1, 2) for t in (query, key, value))
    result, lse = _math.attention_with_lse(query, key, value, attn_mask, scale, *rest)
    if not head_first:
        result = result.transpose(1, 2)
    return result.contiguous(), lse.to(lse_type(query))


def _attention_with_lse_fake(query, key, value, attn_mask, scale, head_first, *rest):
    return _lse_outputs(query, value, head_first)


def varlen_with_lse_outputs(query, value):
    tokens, heads, _ = query.shape
    output = query.new_empty((tokens, heads, value.shape[-1]))
    return output, query.new_empty((heads, tokens), dtype=lse_type(query))


def _attention_varlen_with_lse(
    query, key, value, cu_query, cu_key, scale, causal, left, right, softcap, slopes
):
    output, lse = varlen_with_lse_outputs(query, value)
    if backend(query, key, value) == "kernels" and value.shape[-1] > 0:
        query, key, value = dense_last(query), dense_last(key), dense_last(value)
        tensors = dict(
            query=query, key=key, value=value, output=output, cu_seqlens_query=cu_query,
            cu_seqlens_key=cu_key, alibi_slopes=slopes, lse=lse,
        )  # fmt: skip
        if _library.attention_varlen(
            tensors, scale=scale, softcap=softcap, window_left=left, window_right=right, causal=causal
        ):
            return output, lse
    _math.attention_varlen(
        query, key, value, cu_query, cu_key, scale, causal, left, right, softcap, slopes, output, lse
    )
    return output, lse


def _attention_varlen_with_lse_fake(query, key, value, *rest):
    return varlen_with_lse_outputs(query, value)


def _attention_into_fake(*arguments):
    """The operator only writes."""


_ATTENTION = (
    "Tensor query, Tensor key, Tensor value, Tensor? attn_mask, float scale, bool head_first, int causal, "
    "int window_left, int window_right, float softcap, Tensor? alibi_slopes, int choice, bool by_heads"
)

OPERATORS = (
    (f"attention_forward({_ATTENTION}) -> Tensor", _attention, _attention_fake),
    (
        f"attention_forward.out({_ATTENTION}, Tensor(a!) out) -> ()",
        _attention_into,
        _attention_into_fake,
    ),
    (
        "attention_forward_varlen(Tensor q, Tensor k, Tensor v, Tensor cu_seqlens_q, "
        "Tensor cu_seqlens_k, float scale, int causal, int window_left, int window_right, "
        "float softcap, Tensor? alibi_slopes) -> Tensor",
        _attention_varlen,
        _attention_varlen_fake,
    ),
    (
        "attention_with_lse(Tensor query, Tensor key, Tensor value, Tensor? attn_mask, float scale, "
        "bool head_first, int causal, int window_left, int window_right, float softcap, "
        "Tensor? alibi_slopes) -> (Tensor, Tensor)",
        _attention_with_lse,
        _attention_with_lse_fake,
    ),
    (
        "attention_varlen_with_lse(Tensor q, Tensor k, Tensor v, Tensor cu_seqlens_q, "
        "Tensor cu_seqlens_k, float scale, int causal, int window_left, int window_right, "
        "float softcap, Tensor? alibi_slopes) -> (Tensor, Tensor)",
        _attention_varlen_with_lse,
        _attention_varlen_with_lse_fake,
    ),
)
