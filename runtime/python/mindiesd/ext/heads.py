"""The heads of a query or a key on their way to attention: an RMSNorm and the rotation behind it, of one stream or of
two that attention sees as one. Entry point: ``norm_rotary``."""

import torch

from .. import _forms, _ops
from .._checks import expect_callable, expect_choice, expect_tensor
from .._eager import eager, stands_in
from .._refusals import refusing
from ..utils import ParametersInvalid
from .blocks import _RMS_TYPES
from .joint import _joinable, _norm_of, _rotated, _streams_tables
from .rotary import _MODES, _RESULTS, rotated_type
from .streams import called, expect_operands, expect_parts, joined, tables_of

_STRIDES = ("dense", "x")
_WIDEST_ROW = 4096
"""Bytes of a row that a norm sees alone, up to which the kernels of a GPU read it and the rotation behind it in
vectors. Of wider ones it would read one value at a time."""


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
    tables = tables_of(x, cos, sin, mode) if kind == _ops.RMS_NORM and bias is None else None
    if tables is None:
        return None
    cos, sin, interleaved = tables
    result = rotated_type(result_type, dtype, *(t for t in (cos, sin) if t is not None))
    order = _ops.DENSE if strides == "dense" else _ops.BY_OPERAND
    return _norm_rotary(x, weight, cos, sin, interleaved, across, eps, result, order)


def _pair_in_one_launch(norms, parts, cos, sin, mode, sequence, rms_type, result_type):
    """The result of two streams and the tables of both together; None where it needs the lines that are replaced."""
    place = sequence + parts[0].dim() if sequence < 0 else sequence
    if place not in (1, 2) or not _joinable(*parts, place):
        return None
    lengths = [t.shape[place] for t in parts]
    lasts = [t for t in (cos, sin) if t is not None and t.dim() >= 4 - place]
    if any(t.shape[place - 4] not in (1, sum(lengths)) for t in lasts):
        return None
    if sin is None and not cos.is_complex():
        return None
    tables = _streams_tables(cos, sin, lengths, place - 4)
    return joined(norms, parts, tables, mode, place, rms_type, result_type)


def _pair(norms, parts, cos, sin, mode, heads, sequence, rms_type, result_type):
    """The expression for two streams behind each other."""
    if not any(map(stands_in, parts)):
        expect_operands(norms, parts, "norm")
        if heads is None:
            result = _pair_in_one_launch(norms, parts, cos, sin, mode, sequence, rms_type, result_type)
            if result is not None:
                return result
    whole = torch.cat([called(norm, x, heads) for norm, x in zip(norms, parts)], sequence)
    return _rotated(whole, cos, sin, mode, result_type)


def _is_given(place, default):
    """Whether a place of the sequence is another than the default, a word that no slice takes."""
    return not isinstance(place, str) or place != default


def _place_of_part(x, sequence, start, stop):
    """The number of the dimension of which a part turns."""
    if _is_given(start, "first") and _is_given(stop, "last"):
        raise ParametersInvalid("one of start and stop can be given, but both are; leave one of them out.")
    whole = isinstance(sequence, int) and not isinstance(sequence, bool)
    if stands_in(x) and whole and sequence >= 0:
        return sequence
    place = sequence + x.dim() if whole and sequence < 0 else sequence
    if not whole or not 0 <= place < x.dim():
        raise ParametersInvalid(
            f"sequence_dim must be the number of a dimension of x where start or stop is given, but is {sequence!r} "
            f"for x of shape {list(x.shape)}."
        )
    return place


def _part(norm, x, cos, sin, mode, place, start, stop, rms_type, result_type):
    """The expression of which the rows from ``start`` on, or those before ``stop``, turn."""
    behind = _is_given(start, "first")
    at = start if behind else stop

    def halves(t):
        before = (slice(None),) * place
        return t[(*before, slice(None, at))], t[(*before, slice(at, None))]

    tables = [(None, None), (None, None)]
    tables[int(behind)] = cos, sin
    if not stands_in(x):
        result = joined((norm, norm), halves(x), tables, mode, place, rms_type, result_type)
        if result is not None:
            return result
    parts = halves(called(norm, x, None))
    return torch.cat([_rotated(part, *own, mode, result_type) for part, own in zip(parts, tables)], place)


@refusing
def norm_rotary(
    norm,
    x,
    cos,
    sin=None,
    rotated_mode="rotated_half",
    *,
    heads=None,
    sequence_dim=None,
    start="first",
    stop="last",
    rms_type=None,
    result_type="input",
    strides="dense",
):
    """``rotary_position_embedding(norm(x), cos, sin, rotated_mode)`` in one pass.

    Args:
        norm: the module. In one pass go the RMSNorms that ``norm_scale_shift`` takes, and where x has four dimensions
            and its heads go by themselves also its LayerNorms; any other module is called, as is one with hooks or a
            replaced ``forward``. None: x is only rotated.
        x: [..., D], D even. With ``sequence_dim`` also a list of two tensors, such as text and image, which stand
            behind each other in the result; norm is then a pair of such modules, the first for the first.
        cos, sin: as in ``rotary_qk``: sin None, and cos a complex table or one of 2×2 matrices, are taken as well.
        rotated_mode: as in ``rotary_position_embedding``; not read without sin, where neighbours are the pairs.
        heads: None, or the dimension of x that the norm sees as one with the next, as in
            ``norm(q).unflatten(heads, (-1, D))``: its mean goes over all heads of a position together (Wan).
        sequence_dim: the dimension along which the items of a list stand behind each other, as in
            ``rotary_position_embedding(torch.cat([norm[0](x[0]), norm[1](x[1])], sequence_dim), cos, sin)``; not
            read for one tensor. [B, S, N, D] by 1 and [B, N, S, D] by 2 go in one pass, each head having its own
            norm.
        start, stop: where one of them is given, only the rows ``[start:]`` or ``[:stop]`` of the dimension
            ``sequence_dim`` turn, and the tables are theirs; the rows of the other slice, ``[:start]`` or ``[stop:]``,
            are only normed. Each is what a slice takes, a negative number or None too. Not for a list, nor with
            ``heads`` or ``strides``.
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
    expect_choice("rms_type", rms_type, _RMS_TYPES)
    expect_choice("rotated_mode", rotated_mode, _MODES)
    expect_choice("result_type", result_type, _RESULTS)
    expect_choice("strides", strides, _STRIDES)
    partly = _is_given(start, "first") or _is_given(stop, "last")
    if partly and (isinstance(x, (list, tuple)) or heads is not None or strides != "dense"):
        raise ParametersInvalid(
            "start and stop go with one tensor whose heads the norm sees by themselves and with dense strides, but x is "
            f"{type(x).__name__}, heads {heads!r} and strides {strides!r}."
        )
    if isinstance(x, (list, tuple)):
        parts = expect_parts(norm, x, sequence_dim, ("norm", "sequence_dim"))
        return _pair(*parts, cos, sin, rotated_mode, heads, sequence_dim, rms_type, result_type)
    if stands_in(x):  # each step is written down by itself
        if partly:
            place = _place_of_part(x, sequence_dim, start, stop)
            return _part(norm, x, cos, sin, rotated_mode, place, start, stop, rms_type, result_type)
        return _rotated(called(norm, x, heads), cos, sin, rotated_mode, result_type)
    expect_tensor("x", x)
    if sin is None:
        expect_tensor("cos", cos)
    if partly:
        if norm is not None:
            expect_callable("norm", norm)
        place = _place_of_part(x, sequence_dim, start, stop)
        return _part(norm, x, cos, sin, rotated_mode, place, start, stop, rms_type, result_type)
    place = _place_of(heads, x)
    if norm is None:
        return _rotated(x, cos, sin, rotated_mode, result_type)
    expect_callable("norm", norm)
    result = _in_one_launch(
        norm, x, cos, sin, rotated_mode, place, rms_type, result_type, strides
    )
    if result is None and heads is None and strides == "dense" and x.dim() == 4:
        # A LayerNorm, or a norm with a bias: the operator of two streams, the other one empty.
        parts = x, x.narrow(1, 0, 0)
        result = _pair_in_one_launch((norm, norm), parts, cos, sin, rotated_mode, 1, rms_type, result_type)
    if result is not None:
        return result
    return _rotated(called(norm, x, heads), cos, sin, rotated_mode, result_type)
