"""The heads of a query or a key on their way to attention: an RMSNorm and the rotation behind it. Entry point:
``norm_rotary``."""

import torch

from .. import _forms, _ops
from .._checks import expect_callable, expect_choice, expect_tensor
from .._eager import eager, stands_in
from .._refusals import refusing
from ..utils import ParametersInvalid
from .blocks import _RMS_TYPES
from .joint import _norm_of, _rotated
from .rotary import _MODES, _RESULTS, _complex_parts, _Tables, rotated_type

_STRIDES = ("dense", "x")
_WIDEST_ROW = 4096
"""Bytes of a row that a norm sees alone, up to which the kernels of a GPU read it and the rotation behind it in
vectors. Of wider ones it would read one value at a time."""


def _called(norm, x, heads):
    """What the norm gives for x, whose dimensions ``heads`` and the next one it sees as one."""
    if heads is None:
        return norm(x)
    sizes = x.shape[heads], x.shape[heads + 1]
    return norm(x.flatten(heads, heads + 1)).unflatten(heads if heads >= 0 else heads + 1, sizes)


def _place_of(heads, x):
    """``heads`` counted from the front."""
    if heads is None:
        return None
    whole = isinstance(heads, int) and not isinstance(heads, bool)
    place = heads + x.dim() if whole and heads < 0 else heads
    if not whole or not 0 <= place < x.dim() - 1:
        raise ParametersInvalid(
            f"heads must be None or the number of a dimension of x before the last, but is {heads!r} for x of "
            f"shape {list(x.shape)}."
        )
    return place


def _is_table(table):
    return isinstance(table, torch.Tensor) and table.is_floating_point()


def _tables_of(x, cos, sin, mode):
    """(cos, sin, whether neighbours turn) as the operator takes them; None where it does not."""
    width = x.shape[-1]
    interleaved = sin is None or mode == "rotated_interleaved"
    if sin is None and cos.is_complex():
        cos, sin = _complex_parts(cos, width)
    if not _is_table(cos) or not (sin is None or _is_table(sin)):
        return None
    tables = _Tables(cos, sin, interleaved, width, x.device)
    if tables.broadcast("x", x) != x.shape[:-1]:
        return None
    return *tables.pair, interleaved


@eager
def _norm_rotary(*arguments):
    return _forms.norm_rotary(*arguments)


def _in_one_launch(norm, x, cos, sin, mode, place, rms_type, result_type, strides):
    """The result; None where it needs the lines that are replaced."""
    across = place is not None
    if not x.is_floating_point() or x.is_nested or x.dim() == 0 or (across and place != x.dim() - 2):
        return None
    if x.shape[-1] == 0 or x.shape[-1] % 2:
        return None
    if x.is_cuda and not across and x.shape[-1] * x.element_size() > _WIDEST_ROW:
        return None
    parts = _norm_of(norm, x, rms_type, across, x.shape[-2] if across else 1)
    if parts is None or parts[2] is None:
        return None
    weight, bias, eps, kind, dtype = parts
    tables = _tables_of(x, cos, sin, mode) if kind == _ops.RMS_NORM and bias is None else None
    if tables is None:
        return None
    cos, sin, interleaved = tables
    result = rotated_type(result_type, dtype, *(t for t in (cos, sin) if t is not None))
    order = _ops.DENSE if strides == "dense" else _ops.BY_OPERAND
    return _norm_rotary(x, weight, cos, sin, interleaved, across, eps, result, order)


@refusing
def norm_rotary(
    norm,
    x,
    cos,
    sin=None,
    rotated_mode="rotated_half",
    *,
    heads=None,
    rms_type=None,
    result_type="input",
    strides="dense",
):
    """``rotary_position_embedding(norm(x), cos, sin, rotated_mode)`` in one pass.

    Args:
        norm: the module. In one pass go the RMSNorms that ``norm_scale_shift`` takes; any other module is called,
            as is one with hooks or a replaced ``forward``.
        x: [..., D], D even.
        cos, sin: as in ``rotary_qk``: sin None, and cos a complex table or one of 2×2 matrices, are taken as well.
        rotated_mode: as in ``rotary_position_embedding``; not read without sin, where neighbours are the pairs.
        heads: None, or the dimension of x that the norm sees as one with the next, as in
            ``norm(q).unflatten(heads, (-1, D))``: its mean goes over all heads of a position together (Wan).
        rms_type: as in ``norm_scale_shift``.
        result_type: as in ``rotary_position_embedding``, of what the norm gives.
        strides: ``"dense"``: the result is contiguous; ``"x"``: its dimensions lie in the order of x's, as behind a
            norm that is computed element by element. A norm that is called gives them itself.

    Returns:
        A tensor of the shape and type of the expression. In one pass nothing is rounded between norm and rotation.

    Raises:
        ParametersInvalid: x is no tensor, the norm cannot be called, the tables do not fit, or an option has another
            value.
    """
    if stands_in(x):  # each step is written down by itself
        return _rotated(_called(norm, x, heads), cos, sin, rotated_mode, result_type)
    expect_tensor("x", x)
    expect_choice("rotated_mode", rotated_mode, _MODES)
    expect_choice("rms_type", rms_type, _RMS_TYPES)
    expect_choice("result_type", result_type, _RESULTS)
    expect_choice("strides", strides, _STRIDES)
    if sin is None:
        expect_tensor("cos", cos)
    place = _place_of(heads, x)
    expect_callable("norm", norm)
    result = _in_one_launch(
        norm, x, cos, sin, rotated_mode, place, rms_type, result_type, strides
    )
    if result is not None:
        return result
    return _rotated(_called(norm, x, heads), cos, sin, rotated_mode, result_type)
