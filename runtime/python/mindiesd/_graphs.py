"""Operators under ``torch.compile``: as operators, or as torch code that inductor fuses with its neighbours.

An operator is one kernel, with which nothing around it fuses, and a call of it in a graph costs 10 to 22 microseconds
of host time (``bench/host_time.py --graph``; torch's matrix product 11). Traced as its plain form (``_math``) it
becomes part of the kernels that inductor makes of the element-wise code around it. Measured on an NVIDIA H200
(torch 2.11, bfloat16), as the operator's time on the device by that of the plain form, alone and between
element-wise operations:

=====================  ============  ============  ====================================================
operator               alone         between       decision
=====================  ============  ============  ====================================================
SiLU                   0.77 to 0.99  2.6 to 3.5    plain: it stands behind norms and sums
other activations      0.67 to 0.90  2.1 to 2.9    operator from 2^25 elements on, behind matrix products
RMSNorm and its kin    0.75 to 1.94  1.8 to 3.9    operator from 2^23 elements on
LayerNorm and its kin  0.39 to 1.03  1.2 to 3.0    operator from 2^23 elements on
rotations              0.60 to 1.43  1.2 to 2.5    operator: they stand before attention
softmax                0.34 to 1.02  1.1 to 2.4    operator: it stands between matrix products
attention              -             -             operator
=====================  ============  ============  ====================================================

``bench/graph_ops.py`` gives the figures, ``bench/models_gpu.py`` what they come to in models (docs/models.md).
MINDIESD_COMPILED=operators makes every call an operator, and =plain every call but attention and softmax torch
code; ``measured`` is the default.
"""

import os

import torch

try:  # since torch 2.7
    from torch.fx.experimental.symbolic_shapes import guard_or_true
except ImportError:
    guard_or_true = bool

from . import _math, _ops

DEVICES = ("cuda",)
"""The types of device that were measured; on others every call stays an operator."""

NORM_OPERATORS_FROM = 1 << 23
ACTIVATION_OPERATORS_FROM = 1 << 25
"""Elements from which a norm, or an activation other than SiLU, stays an operator."""

_CHOICES = ("measured", "operators", "plain")
_choice = os.environ.get("MINDIESD_COMPILED", "measured")
if _choice not in _CHOICES:
    raise ValueError(
        f"MINDIESD_COMPILED must be one of {', '.join(_CHOICES)}, but is {_choice!r}."
    )


def _small(x, elements):
    """Whether x has fewer elements; sizes that the trace does not know count as small."""
    return _choice == "plain" or guard_or_true(x.numel() < elements)


def _plain(x):
    """Whether there is a choice for a call with this operand, and it may fall on the plain form."""
    return (
        torch.compiler.is_compiling() and x.device.type in DEVICES and _choice != "operators"
    )


def activation(x, gate, kind, dtype):
    """``_ops.activation``."""
    if _plain(x) and (kind == _ops.SILU or _small(x, ACTIVATION_OPERATORS_FROM)):
        return _math.activation(x, gate, kind).to(dtype)
    return _ops.activation(x, gate, kind, dtype)


def rms_norm(x, weight, bias, eps, dtype, normalized, product, contiguous):
    """``_ops.rms_norm``."""
    if _plain(x) and _small(x, NORM_OPERATORS_FROM):
        result = _math.rms_norm(x, weight, bias, eps, dtype, normalized, product)
        return result.contiguous() if contiguous else result
    return _ops.rms_norm(x, weight, bias, eps, dtype, normalized, product, contiguous)


def norm_scale_shift(x, weight, bias, scale, shift, eps, kind, dtype):
    """``_ops.norm_scale_shift``."""
    if _plain(x) and _small(x, NORM_OPERATORS_FROM):
        normal = _math.fused_norm(x, None, None, weight, bias, scale, shift, eps, kind)[1]
        return normal.to(dtype).contiguous()
    return _ops.norm_scale_shift(x, weight, bias, scale, shift, eps, kind, dtype)


def residual_norm(
    x, branch, gate, weight, bias, scale, shift, eps, kind, sum_dtype, dtype
):
    """``_ops.residual_norm``."""
    operands = (x, branch, gate, weight, bias, scale, shift)
    if _plain(x) and _small(x, NORM_OPERATORS_FROM):
        total, normal = _math.fused_norm(*operands, eps, kind)
        return total.to(sum_dtype), normal.to(dtype).contiguous()
    return _ops.residual_norm(*operands, eps, kind, sum_dtype, dtype)


def rotary(x, cos, sin, interleaved, dtype):
    """``_ops.rotary_position_embedding``."""
    if _choice == "plain" and _plain(x):
        return _math.rotary(x, cos, sin, interleaved, dtype)
    return _ops.rotary_position_embedding(x, cos, sin, interleaved, dtype)


def rotary_qk(
    query, key, query_weight, key_weight, cos, sin, interleaved, norm, head_dim, eps, query_dtype,
    key_dtype,
):  # fmt: skip
    """``_ops.rotary_qk``."""
    if _choice == "plain" and _plain(query):
        sides = (query, query_weight, query_dtype), (key, key_weight, key_dtype)
        return tuple(
            _math.rotary(
                _math.qk_norm(x, weight, eps, norm, head_dim), cos, sin, interleaved, dtype
            )
            for x, weight, dtype in sides
        )
    return _ops.rotary_qk(
        query, key, query_weight, key_weight, cos, sin, interleaved, norm, head_dim, eps,
        query_dtype, key_dtype,
    )  # fmt: skip
