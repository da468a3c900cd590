"""The heads of two streams on their way to joint attention: norms, rotations, one tensor of both."""

import torch

from .. import _forms, _ops
from .._checks import expect_bool, expect_callable, expect_choice, expect_tensor
from .._eager import eager
from .._refusals import refusing
from .blocks import _RMS_TYPES, _norm_parts
from .norm import _eps
from .rotary import (
    _MODES,
    _RESULTS,
    _complex_parts,
    _Tables,
    rotary_complex,
    rotary_matrix,
    rotary_position_embedding,
    rotated_type,
)


def _fits(vector, x, width):
    return vector is None or (
        vector.shape == (width,) and vector.is_floating_point() and vector.device == x.device
    )


def _norm_of(norm, x, rms_type, across_heads, heads):
    """(weight, bias, eps, kind, type of the result), eps None where there is no norm; None where the norm has to
    be called."""
    if norm is None:
        return None, None, None, None, x.dtype
    width = x.shape[-1] * heads if across_heads else x.shape[-1]
    parts = _norm_parts(norm, x.dtype, rms_type, x.new_empty(0, width) if across_heads else x)
    if parts is None or not _fits(parts[0], x, width) or not _fits(parts[1], x, width):
        return None
    weight, bias, eps, kind, dtype = parts
    return weight, bias, float(_eps(eps, x)), kind, dtype


def _called(norm, x, across_heads, head_first):
    if norm is None:
        return x
    if not across_heads:
        return norm(x)
    heads = x.shape[1 if head_first else 2]
    rows = x.transpose(1, 2) if head_first else x
    rows = norm(rows.flatten(2)).unflatten(-1, (heads, x.shape[-1]))
    return rows.transpose(1, 2) if head_first else rows


def _rotated(x, cos, sin, mode, result_type):
    if cos is None:
        return x
    if sin is not None:
        return rotary_position_embedding(x, cos, sin, mode, result_type=result_type)
    if cos.is_complex():
        return rotary_complex(x, cos, result_type=result_type)
    return rotary_matrix(x, cos, result_type=result_type)


def _streams_tables(cos, sin, lengths, dimension):
    """Tables of the joint sequence as those of each stream."""

    def split(table, rest):
        place = dimension - rest
        if table is None or table.dim() < -place or table.shape[place] == 1:
            return table, table
        return table.narrow(place, 0, lengths[0]), table.narrow(place, lengths[0], lengths[1])

    matrices = 2 if sin is None and cos is not None and not cos.is_complex() else 0
    return tuple(zip(split(cos, matrices), split(sin, matrices)))


def _table_parts(cos, sin, mode, x, key):
    """(cos, sin, whether neighbours turn) as the operator takes them for query and key; None where it does not."""
    if cos is None:
        return None, None, None
    width = x.shape[-1]
    interleaved = True if sin is None else mode == "rotated_interleaved"
    if sin is None and cos.is_complex():
        cos, sin = _complex_parts(cos, width)
    tables = _Tables(cos, sin, interleaved, width, x.device)
    operands = (("query", x), ("key", key))
    if any(tables.broadcast(name, t) != t.shape[:-1] for name, t in operands):
        return None
    return *tables.pair, interleaved


def _joinable(x, other, sequence):
    sizes = zip(x.shape, other.shape)
    return (
        x.dim() == 4 and other.dim() == 4 and x.device == other.device
        and all(d == sequence or own == theirs for d, (own, theirs) in enumerate(sizes))
    )  # fmt: skip


def _is_joint(inputs, rotates, sequence):
    """Whether the operator takes these heads."""
    if not all(t.is_floating_point() and not t.is_nested and t.dim() == 4 for t in inputs):
        return False
    if not all(_joinable(inputs[k], inputs[3 + k], sequence) for k in range(3)):
        return False
    width = inputs[0].shape[-1]
    return inputs[1].device == inputs[0].device == inputs[2].device and (
        not rotates or (width % 2 == 0 and inputs[1].shape[-1] == width)
    )


@eager
def _joint_heads(*arguments):
    return _forms.joint_heads(*arguments)


def _in_one_launch(inputs, norms, tables, mode, rms_type, across_heads, head_first, result_type):
    """The results; None where they need the lines that are replaced."""
    rotates = any(cos is not None for cos, _ in tables)
    if not _is_joint(inputs, rotates, 2 if head_first else 1):
        return None
    normed = (inputs[0], inputs[1], inputs[3], inputs[4])
    heads = 1 if head_first else 2
    parts = [
        _norm_of(norm, x, rms_type, across_heads, x.shape[heads])
        for norm, x in zip(norms, normed)
    ]
    if any(part is None for part in parts):
        return None
    kinds = {part[3] for part in parts} - {None}
    own = [
        _table_parts(*pair, mode, inputs[3 * s], inputs[3 * s + 1]) for s, pair in enumerate(tables)
    ]
    if len(kinds) > 1 or any(part is None for part in own):
        return None
    turned = {part[2] for part in own} - {None}
    if len(turned) > 1:
        return None
    dtypes = []
    for k in range(2):
        types = [
            normal if cos is None
            else rotated_type(result_type, normal, *(t for t in (cos, sin) if t is not None))
            for (cos, sin, _), normal in zip(own, (parts[k][4], parts[2 + k][4]))
        ]  # fmt: skip
        dtypes.append(torch.promote_types(*types))
    dtypes.append(torch.promote_types(inputs[2].dtype, inputs[5].dtype))
    weights, biases, eps = zip(*(part[:3] for part in parts))
    return _joint_heads(
        *inputs, *weights, *biases, *(t for cos, sin, _ in own for t in (cos, sin)), *eps,
        across_heads, kinds.pop() if kinds else _ops.RMS_NORM, bool(turned and turned.pop()), head_first, *dtypes,
    )  # fmt: skip


@refusing
def joint_heads(
    query,
    key,
    value,
    other_query,
    other_key,
    other_value,
    query_norm=None,
    key_norm=None,
    other_query_norm=None,
    other_key_norm=None,
    cos=None,
    sin=None,
    other_cos=None,
    other_sin=None,
    rotated_mode="rotated_half",
    *,
    joint_tables=False,
    rms_type=None,
    across_heads=False,
    head_first=False,
    result_type="input",
):
    """Queries, keys and values of two streams, such as text and image, as joint attention takes them: queries and
    keys after their norms and rotations, the streams joined along the sequence, all in one launch on a GPU, or in one
    for each part where a norm goes across heads or vectors do not read the operands.

    Args:
        query, key, value: [B, S, N, D], or [B, N, S, D] with ``head_first``: the stream that comes first.
        other_query, other_key, other_value: the stream behind it, of the same shapes but for S.
        query_norm, key_norm, other_query_norm, other_key_norm: None, or a module. In the launch go the norms that
            ``norm_scale_shift`` takes; where one is another module, or norms of both kinds meet, all are called.
        cos, sin: the tables of the first stream, as in ``rotary_qk``, or None: it does not rotate.
        other_cos, other_sin: those of the other stream.
        rotated_mode: as in ``rotary_qk``.
        joint_tables: cos and sin are tables of the joint sequence; other_cos and other_sin are not read.
        rms_type: as in ``norm_scale_shift``.
        across_heads: a norm goes over all heads of a position, as a module that is called with [B, S, N * D].
        head_first: where the heads are.
        result_type: of the rotation, as in ``rotary_qk``.

    Returns:
        (query, key, value), contiguous, the sequences of both streams behind each other; of each the type
        to which torch.cat promotes those of the streams. Nothing is rounded between norm and rotation.

    Raises:
        ParametersInvalid: an operand is no tensor, a norm cannot be called, an option has another value, or tables
            do not fit.
    """
    inputs = (query, key, value, other_query, other_key, other_value)
    names = ("query", "key", "value", "other_query", "other_key", "other_value")
    for name, x in zip(names, inputs):
        expect_tensor(name, x)
    for name, x in (("cos", cos), ("sin", sin), ("other_cos", other_cos), ("other_sin", other_sin)):
        expect_tensor(name, x, optional=True)
    expect_choice("rotated_mode", rotated_mode, _MODES)
    expect_choice("result_type", result_type, _RESULTS)
    expect_choice("rms_type", rms_type, _RMS_TYPES)
    for name, flag in (
        ("joint_tables", joint_tables), ("across_heads", across_heads), ("head_first", head_first),
    ):  # fmt: skip
        expect_bool(name, flag)
    sequence = 2 if head_first else 1
    tables = ((cos, sin), (other_cos, other_sin))
    if joint_tables:
        lengths = [t.shape[sequence] for t in (query, other_query)]
        tables = _streams_tables(cos, sin, lengths, sequence - 4)
    norms = (query_norm, key_norm, other_query_norm, other_key_norm)
    results = _in_one_launch(
        inputs, norms, tables, rotated_mode, rms_type, across_heads, head_first, result_type
    )
    if results is not None:
        return results
    norm_names = ("query_norm", "key_norm", "other_query_norm", "other_key_norm")
    for name, norm in zip(norm_names, norms):
        if norm is not None:
            expect_callable(name, norm)
    joined = []
    for k in range(3):
        pieces = []
        for s in range(2):
            x = inputs[3 * s + k]
            if k < 2:
                x = _called(norms[2 * s + k], x, across_heads, head_first)
                x = _rotated(x, *tables[s], rotated_mode, result_type)
            pieces.append(x)
        joined.append(torch.cat(pieces, sequence))
    return tuple(joined)
