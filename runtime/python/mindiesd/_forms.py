"""Whether a call runs as an operator of ``_ops`` or as torch code (``_math``).

The public functions call the functions here with checked arguments; each has the arguments, the result and the
layout of the operator of its name. Torch code computes

- where a derivative is wanted, since the operators have none: an operand requires grad while gradients are
  recorded, or has a tangent;
- in the families that MINDIESD_DISABLE names, so that a wrong result can be bisected;
- in a graph of ``torch.compile`` on a CUDA device, where the operator is not the faster form.

An operator is one kernel, with which nothing around it fuses, and a call of it in a graph costs 10 to 22 microseconds
of host time (``bench/host_time.py --graph``; torch's matrix product 11). Traced as its plain form (``_math``) it
becomes part of the kernels that inductor makes of the element-wise code around it. Measured on an NVIDIA H200
(torch 2.11, bfloat16), as the operator's time on the device by that of the plain form, alone and between
element-wise operations:

=====================  ============  ============  =============================================================
operator               alone         between       decision
=====================  ============  ============  =============================================================
SiLU                   0.77 to 0.99  2.6 to 3.5    plain: it stands behind norms and sums
residual sums          -             -             plain, as SiLU: element-wise code between norms
weighted sums          -             -             plain, as residual sums
images of twice size   -             -             plain, which inductor reads within what follows
other activations      0.67 to 0.90  2.1 to 2.9    operator from 2^25 elements on, behind matrix products
RMSNorm and its kin    0.75 to 1.94  1.8 to 3.9    operator from 2^23 elements on
LayerNorm and its kin  0.39 to 1.03  1.2 to 3.0    operator from 2^23 elements on
GroupNorm              0.17 to 1.89  -             plain: SDXL's VAE takes 37.0 ms so, 52.9 by operators (H100)
rotations              0.60 to 1.43  1.2 to 2.5    operator: they stand before attention
softmax                0.34 to 1.02  1.1 to 2.4    operator: it stands between matrix products
attention              -             -             operator
int8 linear            -             -             operator: it reads the weight
linear, gelu's tanh    0.86 to 0.94  -             operator (H100)
=====================  ============  ============  =============================================================

``bench/graph_ops.py`` gives the figures, ``bench/models_gpu.py`` what they come to in models (docs/models.md).
MINDIESD_COMPILED=operators makes every call an operator, and =plain every call but attention and softmax torch
code; ``measured`` is the default.
"""

import math
import os

import torch
from torch.autograd import forward_ad

from . import _attention_ops, _block_ops, _math, _ops, _strides
from .utils import logger

DEVICES = ("cuda",)
"""The types of device that were measured; in a graph for others every call stays an operator."""

NORM_OPERATORS_FROM = 1 << 23
ACTIVATION_OPERATORS_FROM = 1 << 25
"""Elements from which a norm, or an activation other than SiLU, stays an operator in a graph."""

_LARGEST = torch.finfo(torch.float32).max
"""Of a scale that kernels take, which compute in float32; with others torch code gives what torch gives."""

FAMILIES = ("attention", "norm", "rotary", "softmax", "activation")
_CHOICES = ("measured", "operators", "plain")


def _read_environment():
    """(what MINDIESD_COMPILED chooses, the families that MINDIESD_DISABLE names)."""
    choice = os.environ.get("MINDIESD_COMPILED", "measured")
    if choice not in _CHOICES:
        raise ValueError(f"MINDIESD_COMPILED must be one of {', '.join(_CHOICES)}, but is {choice!r}.")
    given = os.environ.get("MINDIESD_DISABLE", "")
    names = {name.strip() for name in given.split(",")} - {""}
    if "all" in names:
        return choice, frozenset(FAMILIES)
    if unknown := sorted(names - set(FAMILIES)):
        raise ValueError(
            f"MINDIESD_DISABLE must name some of {', '.join(FAMILIES)} and all, separated by commas, "
            f"but names {', '.join(map(repr, unknown))}."
        )
    return choice, frozenset(names)


_choice, _disabled = _read_environment()
_said = False


def _wants_derivative(*tensors):
    """Whether torch would record a gradient for one of these, or carries a tangent on, which it does
    whether gradients are recorded or not."""
    if forward_ad._current_level >= 0:
        for tensor in tensors:
            if tensor is not None and forward_ad.unpack_dual(tensor).tangent is not None:
                return True
    if not torch.is_grad_enabled():
        return False
    return any(tensor is not None and tensor.requires_grad for tensor in tensors)


def _say_why_torch_computes():
    global _said
    if not _said and not torch.compiler.is_compiling():
        _said = True
        logger.warning(
            "torch code computes what the kernels do not, since an operand requires grad; run inference "
            "under torch.no_grad() or torch.inference_mode()."
        )


def _as_torch_code(family, *tensors):
    """Whether torch code computes in every mode."""
    if family in _disabled:
        return True
    if not _wants_derivative(*tensors):
        return False
    _say_why_torch_computes()
    return True


def _is_eps(*values):
    """Whether kernels take these for eps; None stands for a norm that is not there. With others torch code
    gives what torch gives."""
    return all(eps is None or 0.0 <= eps < math.inf for eps in values)


def _small(x, elements):
    """Whether x has fewer elements; sizes that the trace does not know count as small. Asked in traces
    alone, which have imported what is imported here: it takes ten times as long as this package."""
    if _choice == "plain":
        return True
    from torch.fx.experimental import symbolic_shapes

    # Since torch 2.7.
    return getattr(symbolic_shapes, "guard_or_true", bool)(x.numel() < elements)


def _chosen_in_graphs(x):
    """Whether there is a choice for a call with this operand, and it may fall on torch code."""
    return (
        torch.compiler.is_compiling() and x.device.type in DEVICES and _choice != "operators"
    )


def attention(
    query, key, value, attn_mask, scale, head_first, causal, left, right, softcap, slopes, choice,
    by_heads,
):  # fmt: skip
    """``_ops.attention_forward``."""
    operands = (query, key, value, attn_mask)
    options = (causal, left, right, softcap, slopes)
    finite = -_LARGEST <= scale <= _LARGEST
    if not finite or _as_torch_code("attention", *operands, slopes):
        # torch's function has no tangent, and a gradient of NaN where a mask leaves a query no key.
        fused = attn_mask is None or not _wants_derivative(*operands, slopes)
        fused = fused and forward_ad._current_level < 0
        # Its own result for such a scale, NaN or zeros, where the call is not shown to be of a formula.
        fused = fused and (finite or head_first and not by_heads)
        return _attention_ops.attention_of_torch(*operands, scale, head_first, *options, by_heads, fused)
    return _ops.attention_forward(*operands, scale, head_first, *options, choice, by_heads)


def attention_into(*arguments):
    """``_ops.attention_into``; gives ``out``, which is the last argument."""
    *rest, out = arguments
    finite = -_LARGEST <= rest[4] <= _LARGEST
    if not finite or _as_torch_code("attention", *rest[:4], rest[10], out):
        return out.copy_(attention(*rest))
    _ops.attention_into(*arguments)
    return out


def attention_varlen(
    query, key, value, cu_query, cu_key, scale, causal, left, right, softcap, slopes
):
    """``_ops.attention_forward_varlen``."""
    arguments = (query, key, value, cu_query, cu_key, scale, causal, left, right, softcap, slopes)
    finite = -_LARGEST <= scale <= _LARGEST
    if not finite or _as_torch_code("attention", query, key, value, slopes):
        output = query.new_empty((*query.shape[:-1], value.shape[-1]))
        return _math.attention_varlen(*arguments, output)
    return _ops.attention_forward_varlen(*arguments)


def attention_with_lse(query, key, value, attn_mask, scale, head_first, *rest):
    """``_ops.attention_with_lse``."""
    arguments = (query, key, value, attn_mask, scale, head_first, *rest)
    finite = -_LARGEST <= scale <= _LARGEST
    if not finite or _as_torch_code("attention", query, key, value, attn_mask, rest[-1]):
        return _attention_ops.with_lse_of_torch(*arguments)
    return _ops.attention_with_lse(*arguments)


def attention_varlen_with_lse(query, key, value, cu_query, cu_key, scale, *rest):
    """``_ops.attention_varlen_with_lse``."""
    arguments = (query, key, value, cu_query, cu_key, scale, *rest)
    finite = -_LARGEST <= scale <= _LARGEST
    if not finite or _as_torch_code("attention", query, key, value, rest[-1]):
        outputs = _attention_ops.varlen_with_lse_outputs(query, value)
        _math.attention_varlen(*arguments, *outputs)
        return outputs
    return _ops.attention_varlen_with_lse(*arguments)


def activation(x, gate, kind, dtype):
    """``_ops.activation``."""
    plain = _as_torch_code("activation", x, gate) or (
        _chosen_in_graphs(x) and (kind == _ops.SILU or _small(x, ACTIVATION_OPERATORS_FROM))
    )
    if plain:
        return _math.activation(x, gate, kind).to(dtype)
    return _ops.activation(x, gate, kind, dtype)


def activation_into(x, gate, kind, out):
    """``_ops.activation_into``; gives ``out``."""
    plain = _as_torch_code("activation", x, gate, out) or (
        _chosen_in_graphs(x) and (kind == _ops.SILU or _small(x, ACTIVATION_OPERATORS_FROM))
    )
    if plain or x.is_nested:
        return out.copy_(_math.activation(x, gate, kind))
    _ops.activation_into(x, gate, kind, out)
    return out


def weighted_sum(*arguments):
    """``_ops.weighted_sum`` of terms, as many weights, and the scale."""
    count = len(arguments) // 2
    terms, weights, scale = arguments[:count], arguments[count:-1], arguments[-1]
    if _as_torch_code("activation", *terms) or _chosen_in_graphs(terms[0]):
        return _math.weighted_sum(terms, weights, scale)
    missing = _block_ops.MAX_TERMS - count
    return _ops.weighted_sum(*terms, *(None,) * missing, *weights, *(0.0,) * missing, scale)


def upsample_nearest2x(x):
    """``_ops.upsample_nearest2x``."""
    if _as_torch_code("activation", x) or _chosen_in_graphs(x):
        return _math.upsample_nearest2x(x)
    return _ops.upsample_nearest2x(x)


def _plain_linear(x, weight, bias, *out):
    return _as_torch_code("activation", x, weight, bias, *out) or (
        _choice == "plain" and _chosen_in_graphs(x)
    )


def linear_activation(x, weight, bias, kind):
    """``_ops.linear_activation``."""
    if _plain_linear(x, weight, bias):
        return _math.linear_activation(x, weight, bias, kind)
    return _ops.linear_activation(x, weight, bias, kind)


def linear_activation_into(x, weight, bias, kind, out):
    """``_ops.linear_activation_into``; gives ``out``."""
    if _plain_linear(x, weight, bias, out):
        return out.copy_(_math.linear_activation(x, weight, bias, kind))
    _ops.linear_activation_into(x, weight, bias, kind, out)
    return out


def int8_linear(x, weight, scales, bias):
    """``_ops.int8_linear``."""
    if _as_torch_code("activation", x, scales, bias):
        return _math.int8_linear(x, weight, scales, bias)
    return _ops.int8_linear(x, weight, scales, bias)


def _plain_norm(x, *operands):
    return _as_torch_code("norm", x, *operands) or (
        _chosen_in_graphs(x) and _small(x, NORM_OPERATORS_FROM)
    )


def rms_norm(x, weight, bias, eps, dtype, normalized, product, strides):
    """``_ops.rms_norm``."""
    if _is_eps(eps) and not _plain_norm(x, weight, bias):
        return _ops.rms_norm(x, weight, bias, eps, dtype, normalized, product, strides)
    result = _math.rms_norm(x, weight, bias, eps, dtype, normalized, product)
    if strides == _ops.DENSE:
        return result.contiguous()
    if strides == _ops.BY_OPERAND:
        return result
    return _strides.moved(result, _ops.root_strides(x, strides))


def norm_scale_shift(x, weight, bias, scale, shift, eps, kind, dtype, strides):
    """``_ops.norm_scale_shift``."""
    arguments = (weight, bias, scale, shift, eps, kind)
    if _is_eps(eps) and not _plain_norm(x, weight, bias, scale, shift):
        return _ops.norm_scale_shift(x, *arguments, dtype, strides)
    normal = _math.fused_norm(x, *arguments).to(dtype)
    if strides == _ops.DENSE:
        return normal.contiguous()
    return _strides.moved(normal, _ops.modulated_strides(x, scale, shift, strides))


def group_norm(x, weight, bias, groups, eps, silu, dtype, channels_last):
    """``_ops.group_norm``."""
    arguments = (x, weight, bias, groups, eps, silu)
    if not (_as_torch_code("norm", x, weight, bias) or _chosen_in_graphs(x)):
        return _ops.group_norm(*arguments, dtype, channels_last)
    result = _math.group_norm(*arguments).to(dtype)
    return result.contiguous(memory_format=_block_ops.group_format(x, channels_last))


def residual(x, branch, gate, dtype, gate_tanh, branch_weight, branch_eps):
    """``_ops.residual``."""
    operands = (x, branch, gate, branch_weight)
    plain = not _is_eps(branch_eps) or _as_torch_code("norm", *operands) or (
        _chosen_in_graphs(x) and (branch_eps is None or _small(x, NORM_OPERATORS_FROM))
    )
    if plain:
        return _math.residual(x, branch, gate, gate_tanh, branch_weight, branch_eps).to(dtype)
    return _ops.residual(x, branch, gate, dtype, gate_tanh, branch_weight, branch_eps)


def residual_norm(
    x, branch, gate, weight, bias, scale, shift, eps, kind, sum_dtype, dtype, gate_tanh,
    branch_weight, branch_eps,
):  # fmt: skip
    """``_ops.residual_norm``."""
    operands = (x, branch, gate, weight, bias, scale, shift)
    added = (gate_tanh, branch_weight, branch_eps)
    if not _is_eps(eps, branch_eps) or _plain_norm(*operands, branch_weight):
        total = _math.residual(x, branch, gate, *added)
        normal = _math.fused_norm(total, weight, bias, scale, shift, eps, kind)
        return total.to(sum_dtype), normal.to(dtype).contiguous()
    return _ops.residual_norm(*operands, eps, kind, sum_dtype, dtype, *added)


def softmax(x, dim, scale, bias, subtract, clamp_min, clamp_max, mask, mask_value, dtype):
    """``_ops.softmax``."""
    arguments = (x, dim, scale, bias, subtract, clamp_min, clamp_max, mask, mask_value, dtype)
    bounds = all(bound is None or bound == bound for bound in (clamp_min, clamp_max))
    finite = -_LARGEST <= scale <= _LARGEST
    if not (finite and bounds) or _as_torch_code("softmax", x, bias, mask):
        return _math.softmax(*arguments).contiguous()
    return _ops.softmax(*arguments)


def _plain_rotation(x, *operands):
    return _as_torch_code("rotary", x, *operands) or (_choice == "plain" and _chosen_in_graphs(x))


def rotary(x, cos, sin, interleaved, dtype, strides):
    """``_ops.rotary_position_embedding``."""
    if not _plain_rotation(x, cos, sin):
        return _ops.rotary_position_embedding(x, cos, sin, interleaved, dtype, strides)
    result = _math.rotary(x, cos, sin, interleaved, dtype)
    if strides == _ops.DENSE:
        return result.contiguous()
    return _strides.moved(result, _ops.rotated_strides(x, cos, sin, strides))


def rotary_grid(x, table, grid_sizes, frame_pairs, row_pairs):
    """``_ops.rotary_grid``, which no graph has as torch code: that reads sizes on the host."""
    if _as_torch_code("rotary", x, table):
        return _math.rotary_grid(x, table, grid_sizes, frame_pairs, row_pairs)
    return _ops.rotary_grid(x, table, grid_sizes, frame_pairs, row_pairs)


def rotary_in_place(x, cos, sin, interleaved):
    """``_ops.rotary_position_embedding_``."""
    if _as_torch_code("rotary", x, cos, sin):
        x.copy_(_math.rotary(x, cos, sin, interleaved, x.dtype))
    else:
        _ops.rotary_position_embedding_(x, cos, sin, interleaved)


def _rotated_pair(
    query, key, query_weight, key_weight, cos, sin, interleaved, norm, head_dim, eps, dtypes
):
    return tuple(
        _math.rotary(_math.qk_norm(x, weight, eps, norm, head_dim), cos, sin, interleaved, dtype)
        for x, weight, dtype in zip((query, key), (query_weight, key_weight), dtypes)
    )


def _plain_pair(query, key, query_weight, key_weight, cos, sin, norm):
    operands = (query, key, query_weight, key_weight, cos, sin)
    normed = norm != _ops.QK_NORM_NONE and "norm" in _disabled
    return normed or _plain_rotation(*operands)


def rotary_qk(
    query, key, query_weight, key_weight, cos, sin, interleaved, norm, head_dim, eps, query_dtype,
    key_dtype,
):  # fmt: skip
    """``_ops.rotary_qk``."""
    operands = (query, key, query_weight, key_weight, cos, sin)
    options = (interleaved, norm, head_dim, eps)
    if _plain_pair(*operands, norm):
        return _rotated_pair(*operands, *options, (query_dtype, key_dtype))
    return _ops.rotary_qk(*operands, *options, query_dtype, key_dtype)


def rotary_qk_in_place(
    query, key, query_weight, key_weight, cos, sin, interleaved, norm, head_dim, eps
):
    """``_ops.rotary_qk_``."""
    operands = (query, key, query_weight, key_weight, cos, sin)
    options = (interleaved, norm, head_dim, eps)
    if _plain_pair(*operands, norm):
        results = _rotated_pair(*operands, *options, (query.dtype, key.dtype))
        query.copy_(results[0])
        key.copy_(results[1])
    else:
        _ops.rotary_qk_(*operands, *options)


def norm_rotary(x, weight, cos, sin, interleaved, across_heads, eps, dtype, strides):
    """``_ops.norm_rotary``."""
    span = _ops.QK_NORM_ALL if across_heads else _ops.QK_NORM_HEAD
    if _is_eps(eps) and not _plain_pair(x, None, weight, None, cos, sin, span):
        return _ops.norm_rotary(x, weight, cos, sin, interleaved, across_heads, eps, dtype, strides)
    normal = _math.qk_norm(x, weight, eps, span, -2)
    result = _math.rotary(normal, cos, sin, interleaved, dtype)
    if strides == _ops.DENSE:
        return result.contiguous()
    return _strides.moved(result, _ops.root_strides(x, strides))


def joint_heads(*arguments):
    """``_ops.joint_heads``."""
    inputs, weights, biases, tables, eps, options, dtypes = _block_ops.joint_parts(arguments)
    operands = (*inputs, *weights, *biases, *tables)
    normed = "norm" in _disabled and any(value is not None for value in eps)
    if normed or _plain_rotation(*operands):
        return _math.joint_heads(inputs, weights, biases, tables, eps, *options, dtypes)
    return _ops.joint_heads(*arguments)
