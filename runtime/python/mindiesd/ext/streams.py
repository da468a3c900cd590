"""The heads of two streams, such as text and image, behind each other in one tensor, each behind a norm and a
rotation of its own or none. Entry points: ``norm_cat``; for ``norm_rotary`` ``joined``, ``called``, ``tables_of``."""

import torch

from .. import _ops
from .._checks import expect_callable, expect_choice, expect_tensor
from .._eager import stands_in
from .._refusals import refusing
from ..utils import ParametersInvalid
from .blocks import _RMS_TYPES
from .joint import _joinable, _joint_heads, _norm_of, _rotated
from .rotary import _MODES, _RESULTS, _complex_parts, _Tables, rotated_type


def called(norm, x, heads):
    """What the norm gives for x, whose dimensions ``heads`` and the next one it sees as one."""
    if norm is None:
        return x
    if heads is None:
        return norm(x)
    sizes = x.shape[heads], x.shape[heads + 1]
    return norm(x.flatten(heads, heads + 1)).unflatten(heads if heads >= 0 else heads + 1, sizes)


def _is_table(table):
    return isinstance(table, torch.Tensor) and table.is_floating_point()


def tables_of(x, cos, sin, mode):
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


def expect_parts(norms, x, sequence, names):
    """(norms, parts) of a list of two tensors; ``names``: of the norms and of the dimension along which they stand."""
    norms_name, name = names
    if not isinstance(norms, (list, tuple)) or len(norms) != 2 or len(x) != 2:
        raise ParametersInvalid(
            f"a list as x has two tensors, and {norms_name} is then a pair of modules, but x has {len(x)} items and "
            f"{norms_name} is {norms!r}."
        )
    if not isinstance(sequence, int) or isinstance(sequence, bool):
        raise ParametersInvalid(
            f"{name} must be the number of a dimension where x is a list, but is {sequence!r}."
        )
    return tuple(norms), tuple(x)


def expect_operands(norms, parts, name):
    """That the operands of two streams are tensors and their norms can be called; ``name`` is that of the norms."""
    for number, part in enumerate(parts):
        expect_tensor(f"x[{number}]", part)
    for number, norm in enumerate(norms):
        if norm is not None:
            expect_callable(f"{name}[{number}]", norm)


def _idle(tables, dims):
    """A dimension before the last that none of the tables has, which may therefore be empty; None where all are
    taken."""
    for place in dims:
        sizes = [t.shape[place] for t in tables if t is not None and t.dim() >= -place]
        if all(size == 1 for size in sizes):
            return place
    return None


def _stream_tables(x, tables, mode):
    """(cos, sin, whether neighbours turn), all None for a stream that does not rotate; None where the operator does
    not take them."""
    cos, sin = tables
    if cos is None:
        return None, None, None
    if x.shape[-1] % 2 or (sin is None and not cos.is_complex()):
        return None
    return tables_of(x, cos, sin, mode)


def joined(norms, parts, tables, mode, sequence, rms_type, result_type):
    """Both streams behind each other, as the query of ``joint_heads`` whose keys and values are empty; None where
    they need the lines that are replaced. ``tables``: (cos, sin) of each stream, None and None where it does not
    rotate."""
    x, other = parts
    place = sequence + x.dim() if sequence < 0 else sequence
    if place not in (1, 2) or not _joinable(x, other, place):
        return None
    if not all(t.is_floating_point() and not t.is_nested for t in parts) or x.shape[-1] == 0:
        return None
    found = [_norm_of(norm, t, rms_type, False, 1) for norm, t in zip(norms, parts)]
    if any(part is None for part in found) or len({part[3] for part in found} - {None}) > 1:
        return None
    own = [_stream_tables(t, pair, mode) for t, pair in zip(parts, tables)]
    if any(part is None for part in own):
        return None
    turned = {part[2] for part in own} - {None}
    empty = _idle([t for part in own for t in part[:2]], (-4, -3 if place == 2 else -2))
    if empty is None or len(turned) > 1:
        return None
    nothing = [t.narrow(empty, 0, 0) for t in parts]
    dtype = torch.promote_types(*(
        part[4] if pair[0] is None
        else rotated_type(result_type, part[4], *(t for t in pair[:2] if t is not None))
        for part, pair in zip(found, own)
    ))  # fmt: skip
    weights, biases, eps, kinds, _ = zip(*found)
    kind = next((kind for kind in kinds if kind is not None), _ops.RMS_NORM)
    return _joint_heads(
        x, nothing[0], nothing[0], other, nothing[1], nothing[1],
        weights[0], None, weights[1], None, biases[0], None, biases[1], None, *own[0][:2], *own[1][:2],
        eps[0], None, eps[1], None, False, kind, bool(turned and turned.pop()), place == 2, dtype, dtype, dtype,
    )[0]  # fmt: skip


def _expect_tables(tables):
    """(cos, sin) of each stream."""
    if not isinstance(tables, (list, tuple)) or len(tables) != 2:
        raise ParametersInvalid(
            f"tables must be a pair, one for each stream, but is {tables!r}."
        )
    found = []
    for number, own in enumerate(tables):
        own = own if isinstance(own, (list, tuple)) else (own, None)
        if len(own) != 2:
            raise ParametersInvalid(
                f"tables[{number}] must be None, a complex table or (cos, sin), but has {len(own)} items."
            )
        for name, table in zip(("cos", "sin"), own):
            expect_tensor(f"{name} of tables[{number}]", table, optional=True)
        if own[0] is None and own[1] is not None:
            raise ParametersInvalid(f"tables[{number}] has a sin but no cos; give both.")
        found.append(tuple(own))
    return tuple(found)


@refusing
def norm_cat(
    norms, x, dim, tables=(None, None), rotated_mode="rotated_half", *, rms_type=None, result_type="input"
):
    """``torch.cat([norms[0](x[0]), norms[1](x[1])], dim)`` in one pass, each part rotated behind its norm where it
    has tables.

    Args:
        norms: a pair, each None or the module of that part. In one pass go the norms that ``norm_scale_shift`` takes,
            where both are RMSNorms or both LayerNorms; others are called.
        x: a pair of tensors, such as the queries of text and image. [B, S, N, D] by dim 1 and [B, N, S, D] by dim 2 go
            in one pass; what torch takes beyond that is computed as it is written.
        dim: the dimension along which they stand behind each other.
        tables: of each part None, ``(cos, sin)`` or a complex table, as ``rotary_position_embedding`` and
            ``rotary_complex`` take them.
        rotated_mode: as in ``rotary_position_embedding``; not read of complex tables.
        rms_type: as in ``norm_scale_shift``.
        result_type: of a rotation, as in ``rotary_position_embedding``.

    Returns:
        A contiguous tensor of the shape and type of the expression. In one pass nothing is rounded between norm and
        rotation.

    Raises:
        ParametersInvalid: an operand is no tensor, a norm cannot be called, tables do not fit, or an option has
            another value.
    """
    expect_choice("rms_type", rms_type, _RMS_TYPES)
    expect_choice("rotated_mode", rotated_mode, _MODES)
    expect_choice("result_type", result_type, _RESULTS)
    if not isinstance(x, (list, tuple)):
        raise ParametersInvalid(f"x must be a pair of tensors, but is {type(x).__name__}.")
    norms, parts = expect_parts(norms, x, dim, ("norms", "dim"))
    tables = _expect_tables(tables)
    if not any(map(stands_in, parts)):
        expect_operands(norms, parts, "norms")
        result = joined(norms, parts, tables, rotated_mode, dim, rms_type, result_type)
        if result is not None:
            return result
    return torch.cat([
        _rotated(called(norm, part, None), *own, rotated_mode, result_type)
        for norm, part, own in zip(norms, parts, tables)
    ], dim)  # fmt: skip
