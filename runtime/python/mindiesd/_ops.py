"""The torch operators ``mindiesd::*``: schemas, shape functions, and the choice of back end.

Arguments arrive checked and in one form (``ext`` and the published functions see to that); only what
the kernels themselves check is left to them. The operators are registered with ``Library.define`` and
``impl``, which costs a third of the host time of ``torch.library.custom_op``.
"""

import torch

from . import _library, _math

CAUSAL_NONE, CAUSAL_TOP_LEFT, CAUSAL_BOTTOM_RIGHT = 0, 1, 2
SUBTRACT_NONE, SUBTRACT_ROW, SUBTRACT_GLOBAL = 0, 1, 2

_FLOATING = (torch.float32, torch.float16, torch.bfloat16)
_MASKS = (*_FLOATING, torch.bool)


def backend(x, *others):
    """``"kernels"`` where libmindiesd has kernels for the device and the types, else ``"math"``."""
    if x.device.type not in _library.DEVICES or x.dtype not in _FLOATING:
        return "math"
    if x.dim() > _library.MAX_NDIM:
        return "math"
    for other in others:
        if other is not None and other.dtype not in _MASKS:
            return "math"
    return "kernels"


def _dense_last(tensor):
    return tensor if tensor.stride(-1) == 1 or tensor.shape[-1] <= 1 else tensor.contiguous()


def _attention_output(query, value, head_first):
    """BSND: dense. BNSD: the stride order of the query, as torch's has."""
    width = value.shape[-1]
    if not head_first:
        return query.new_empty((*query.shape[:-1], width))
    batch, heads, length, _ = query.shape
    strides = query.stride()
    # Outermost first; dimensions that the strides do not order keep their own order.
    order = sorted(range(3), key=lambda d: -strides[d] if query.shape[d] > 1 else 0)
    if 0 in (strides[0], strides[1], strides[2]) or 1 in (batch, heads, length):
        order = [0, 2, 1] if strides[1] < strides[2] else [0, 1, 2]
    sizes = (batch, heads, length)
    inverse = [order.index(d) for d in range(3)]
    return query.new_empty([sizes[d] for d in order] + [width]).permute(*inverse, 3)


def _attention(
    query, key, value, attn_mask, scale, head_first, causal, left, right, softcap, slopes
):
    if backend(query, key, value, attn_mask) == "math":
        if not head_first:
            query, key, value = (t.transpose(1, 2) for t in (query, key, value))
        result = _math.attention(
            query, key, value, attn_mask, scale, causal, left, right, softcap, slopes
        )
        if not head_first:
            return result.transpose(1, 2).contiguous()
        return _attention_output(query, value, head_first).copy_(result)
    query, key, value = _dense_last(query), _dense_last(key), _dense_last(value)
    output = _attention_output(query, value, head_first)
    _library.attention(
        query, key, value, output, attn_mask, slopes, scale, softcap, left, right, head_first,
        causal,
    )  # fmt: skip
    return output


def _attention_fake(
    query, key, value, attn_mask, scale, head_first, causal, left, right, softcap, slopes
):
    return _attention_output(query, value, head_first)


def _attention_varlen(
    query, key, value, cu_query, cu_key, scale, causal, left, right, softcap, slopes
):
    output = query.new_empty((*query.shape[:-1], value.shape[-1]))
    if backend(query, key, value) == "math":
        return _math.attention_varlen(
            query, key, value, cu_query, cu_key, scale, causal, left, right, softcap, slopes, output
        )
    query, key, value = _dense_last(query), _dense_last(key), _dense_last(value)
    _library.attention_varlen(
        query, key, value, output, cu_query, cu_key, slopes, scale, softcap, left, right, causal
    )
    return output


def _attention_varlen_fake(
    query, key, value, cu_query, cu_key, scale, causal, left, right, softcap, slopes
):
    return query.new_empty((*query.shape[:-1], value.shape[-1]))


def _rotary(x, cos, sin, interleaved, dtype):
    output = torch.empty_like(x, dtype=dtype)
    if backend(x, cos, sin) == "math" or dtype not in _FLOATING:
        return output.copy_(_math.rotary(x, cos, sin, interleaved, dtype))
    _library.rotary(x, cos, sin, output, interleaved)
    return output


def _rotary_fake(x, cos, sin, interleaved, dtype):
    return torch.empty_like(x, dtype=dtype)


def _norm_output(x, dtype, contiguous):
    layout = torch.contiguous_format if contiguous else torch.preserve_format
    return torch.empty_like(x, dtype=dtype, memory_format=layout)


def _rms_norm(x, weight, bias, eps, dtype, normalized, product, contiguous):
    output = _norm_output(x, dtype, contiguous)
    width = x.shape[-1:]
    whole = all(t is None or t.shape == width for t in (weight, bias))
    if not whole or backend(x, weight, bias, output) == "math":
        return output.copy_(_math.rms_norm(x, weight, bias, eps, dtype, normalized, product))
    _library.rms_norm(x, weight, bias, output, eps, normalized, product)
    return output


def _rms_norm_fake(x, weight, bias, eps, dtype, normalized, product, contiguous):
    return _norm_output(x, dtype, contiguous)


def _softmax(x, dim, subtract, clamp_min, clamp_max, mask, mask_value, dtype):
    output = torch.empty_like(x, dtype=dtype, memory_format=torch.contiguous_format)
    if backend(x, mask, output) == "math":
        result = _math.softmax(x, dim, subtract, clamp_min, clamp_max, mask, mask_value, dtype)
        return output.copy_(result)
    _library.softmax(x, mask, output, mask_value, clamp_min, clamp_max, subtract, dim)
    return output


def _softmax_fake(x, dim, subtract, clamp_min, clamp_max, mask, mask_value, dtype):
    return torch.empty_like(x, dtype=dtype, memory_format=torch.contiguous_format)


_OPERATORS = (
    (
        "attention_forward(Tensor query, Tensor key, Tensor value, Tensor? attn_mask, float scale, "
        "bool head_first, int causal, int window_left, int window_right, float softcap, "
        "Tensor? alibi_slopes) -> Tensor",
        _attention,
        _attention_fake,
    ),
    (
        "attention_forward_varlen(Tensor q, Tensor k, Tensor v, Tensor cu_seqlens_q, "
        "Tensor cu_seqlens_k, float scale, int causal, int window_left, int window_right, "
        "float softcap, Tensor? alibi_slopes) -> Tensor",
        _attention_varlen,
        _attention_varlen_fake,
    ),
    (
        "rotary_position_embedding(Tensor x, Tensor cos, Tensor sin, bool interleaved, "
        "ScalarType dtype) -> Tensor",
        _rotary,
        _rotary_fake,
    ),
    (
        "rms_norm(Tensor x, Tensor? weight, Tensor? bias, float eps, ScalarType dtype, "
        "ScalarType normalized, ScalarType product, bool contiguous) -> Tensor",
        _rms_norm,
        _rms_norm_fake,
    ),
    (
        "softmax(Tensor input, int dim, int subtract, float? clamp_min, float? clamp_max, "
        "Tensor? mask, float mask_value, ScalarType dtype) -> Tensor",
        _softmax,
        _softmax_fake,
    ),
)

_registry = torch.library.Library("mindiesd", "DEF")
for _schema, _function, _fake in _OPERATORS:
    _name = _schema.split("(")[0]
    _registry.define(_schema, tags=(torch.Tag.pt2_compliant_tag,))
    _registry.impl(_name, _function, "CompositeExplicitAutograd")
    torch.library.register_fake(f"mindiesd::{_name}", _fake, lib=_registry)

attention_forward = torch.ops.mindiesd.attention_forward.default
attention_forward_varlen = torch.ops.mindiesd.attention_forward_varlen.default
rotary_position_embedding = torch.ops.mindiesd.rotary_position_embedding.default
rms_norm = torch.ops.mindiesd.rms_norm.default
softmax = torch.ops.mindiesd.softmax.default
