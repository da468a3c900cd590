"""Rotary embedding in its general form, by real tables, complex tables and angles."""

import torch

from .. import _forms, _ops, _written
from .._checks import (
    expect_bool,
    expect_choice,
    expect_same_device,
    expect_tensor,
    finite_number,
    is_either,
)
from .._eager import eager, overridable
from ..utils import ParametersInvalid


_PAIR_MODES = ("rotated_half", "rotated_interleaved")
_MODES = (*_PAIR_MODES, "rotated_chunks")
_RESULTS = ("input", "promoted", "float32")


def rotated_type(result_type, dtype, *tables):
    """The type of a rotation's result for an operand of ``dtype``."""
    if result_type == "input":
        return dtype
    dtype = dtype if result_type == "promoted" else torch.float32
    for table in tables:
        dtype = torch.promote_types(dtype, table.dtype)
    return dtype


def _expect_rotatable(name, x):
    expect_tensor(name, x)
    if x.dim() == 0 or not x.is_floating_point():
        raise ParametersInvalid(
            f"{name} must be a floating tensor with at least one dimension, but is {x.dtype} of "
            f"shape {list(x.shape)}."
        )
    if x.shape[-1] % 2:
        raise ParametersInvalid(
            f"{name} must have an even last dimension, but has shape {list(x.shape)}."
        )


class _Tables:
    """cos and sin as the operators take them, for x of ``width`` columns; ``sin`` is None where
    ``cos`` holds matrices. ``rows``: the leading sizes, for broadcasting."""

    def __init__(self, cos, sin, interleaved, width, device):
        self.interleaved = interleaved
        self.parts = tuple(
            t if t.device == device else t.to(device) for t in (cos, sin) if t is not None
        )
        if sin is None:
            self._check_matrices(width)
        else:
            self._check_columns(width)

    def _check_matrices(self, width):
        (table,) = self.parts
        if table.dim() < 3 or table.shape[-2:] != (2, 2) or not table.is_floating_point():
            raise ParametersInvalid(
                "freqs must be a floating tensor of 2×2 matrices, [..., D/2, 2, 2], but is "
                f"{table.dtype} of shape {list(table.shape)}."
            )
        if table.shape[-3] == 1 and width > 2:  # one matrix for the whole row
            table = table.expand(*table.shape[:-3], width // 2, 2, 2)
            self.parts = (table,)
        if table.shape[-3] != width // 2:
            raise ParametersInvalid(
                f"freqs must hold {width // 2} matrices a row, one for each pair of x's columns, but "
                f"has shape {list(table.shape)}."
            )
        self.rows = (table.shape[:-3],)

    def _check_columns(self, width):
        cos, sin = self.parts
        for name, table in (("cos", cos), ("sin", sin)):
            if table.dim() == 0 or not table.is_floating_point():
                raise ParametersInvalid(
                    f"{name} must be a floating tensor with at least one dimension, but is "
                    f"{table.dtype} of shape {list(table.shape)}."
                )
        if cos.shape[-1] == 1 and sin.shape[-1] == 1 and width > 2:  # one angle for the whole row
            cos, sin = (t.expand(*t.shape[:-1], width) for t in (cos, sin))
            self.parts = (cos, sin)
        if cos.shape[-1] != sin.shape[-1] or not is_either(
            cos.shape[-1], width, width // 2
        ):
            raise ParametersInvalid(
                f"cos and sin must both have {width} or both {width // 2} columns for x with {width}, "
                f"but have shapes {list(cos.shape)} and {list(sin.shape)}."
            )
        self.rows = (cos.shape[:-1], sin.shape[:-1])

    def broadcast(self, name, x):
        """The leading sizes of x's rotation."""
        try:
            return torch.broadcast_shapes(x.shape[:-1], *self.rows)
        except RuntimeError:
            shapes = " and ".join(str(list(part.shape)) for part in self.parts)
            raise ParametersInvalid(
                f"the tables must broadcast against {name} by trailing dimensions, but {name} has "
                f"shape {list(x.shape)} and the tables {shapes}."
            ) from None

    def drop_leading(self, dims):
        """Leaves the last ``dims`` of the leading sizes; those before are ones."""

        def last(table, rows):
            extra = len(rows) - dims
            return table.reshape(table.shape[extra:]) if extra > 0 else table

        self.parts = tuple(map(last, self.parts, self.rows))
        self.rows = tuple(rows[max(len(rows) - dims, 0) :] for rows in self.rows)

    @property
    def pair(self):
        """(cos, sin or None)."""
        return self.parts if len(self.parts) == 2 else (self.parts[0], None)


def _complex_parts(freqs_cis, width):
    expect_tensor("freqs_cis", freqs_cis)
    if freqs_cis.dim() == 0 or not (freqs_cis.is_complex() or freqs_cis.is_floating_point()):
        raise ParametersInvalid(
            "freqs_cis must be a complex or floating tensor with at least one dimension, but is "
            f"{freqs_cis.dtype} of shape {list(freqs_cis.shape)}."
        )
    if freqs_cis.is_complex():
        parts = torch.view_as_real(freqs_cis.resolve_conj())
        cos, sin = parts[..., 0], parts[..., 1]
    else:
        cos, sin = freqs_cis, torch.zeros_like(freqs_cis)
    half = width // 2
    if cos.shape[-1] == 1 and half != 1:
        cos, sin = cos.expand(*cos.shape[:-1], half), sin.expand(*sin.shape[:-1], half)
    if cos.shape[-1] != half:
        raise ParametersInvalid(
            f"freqs_cis must have {half} columns, half of x's, but has shape "
            f"{list(freqs_cis.shape)}."
        )
    return cos, sin


def _is_table(freqs_cis):
    return freqs_cis.dim() > 0 and (freqs_cis.is_complex() or freqs_cis.is_floating_point())


def _expect_writable(name, x, rows, dtype):
    if rows != x.shape[:-1] or dtype != x.dtype:
        raise ParametersInvalid(
            f"inplace needs a result of {name}'s shape and type, {list(x.shape)} of {x.dtype}, but it "
            f"has {[*rows, x.shape[-1]]} of {dtype}."
        )


def _strides_code(strides, *tables):
    """The operators' number for what a caller names: x, or what this call's tables are called."""
    expect_choice("strides", strides, ("x", *tables, "dense"))
    return {"x": _ops.BY_OPERAND, "dense": _ops.DENSE, "sin": _ops.BY_SIN}.get(strides, _ops.BY_COS)


def _rotary(x, tables, result_type, inplace, strides, keep_shape=False):
    expect_bool("inplace", inplace)
    expect_bool("keep_shape", keep_shape)
    rows = tables.broadcast("x", x)
    if keep_shape:
        lead = len(rows) - (x.dim() - 1)
        if any(n != 1 for n in rows[:lead]) or rows[lead:] != x.shape[:-1]:
            raise ParametersInvalid(
                f"the result must have x's shape, {list(x.shape)}, but with these tables it has "
                f"{[*rows, x.shape[-1]]}."
            )
        tables.drop_leading(x.dim() - 1)
        rows = x.shape[:-1]
    dtype = rotated_type(result_type, x.dtype, *tables.parts)
    cos, sin = tables.pair
    if x.is_nested:
        raise ParametersInvalid("x must not be a nested tensor: its rows have no common table.")
    if inplace:
        _expect_writable("x", x, rows, dtype)
        _forms.rotary_in_place(x, cos, sin, tables.interleaved)
        return x
    if rows != x.shape[:-1]:
        x = x.expand(*rows, x.shape[-1])
    return _forms.rotary(x, cos, sin, tables.interleaved, dtype, strides)


@eager
def rotary_position_embedding(
    x, cos, sin, rotated_mode="rotated_half", *, result_type="input", strides="x", inplace=False
):
    """x * cos + rotate(x) * sin along the last dimension.

    Args:
        x: [..., D], D even; odd where cos and sin have D columns and halves are rotated.
        cos, sin: broadcast against x by trailing dimensions; the last is D, or D/2 with one value for
            each pair; or numbers. Tables on another device are moved. Where they or x are no floating
            tensors, torch's own operators compute, in the types that they give.
        rotated_mode: ``"rotated_half"``: pairs (x[j], x[j + D/2]); ``"rotated_interleaved"``: pairs
            (x[2j], x[2j + 1]). A pair (a, b) turns into (-b, a). ``"rotated_chunks"``: as
            ``"rotated_half"``, but of an odd D the first half is the larger, as ``x.chunk(2, -1)``
            divides it, and not the smaller, as ``x[..., : D // 2]`` does.
        result_type: ``"input"``: x's type; ``"promoted"``: that of x, cos and sin; ``"float32"``: that
            of ``x.float()``, cos and sin.
        strides: what stands first in the expression that this call replaces, whose stride order its result
            has: ``"x"``, ``"cos"`` or ``"sin"``; ``"dense"``: parts that are joined (by cat or stack) stand
            there, and the result is contiguous.
        inplace: write over x, and return it; needs a result of x's shape and type.

    Returns:
        A tensor of the broadcast shape.

    Raises:
        ParametersInvalid: an argument has the wrong type, shape or value.
    """
    expect_tensor("x", x)
    expect_choice("rotated_mode", rotated_mode, _MODES)
    expect_choice("result_type", result_type, _RESULTS)
    code = _strides_code(strides, "cos", "sin")
    interleaved = rotated_mode == "rotated_interleaved"
    if inplace is False and _as_written(x, cos, sin, result_type, interleaved):
        return _written.rotation(x, cos, sin, rotated_mode, result_type, strides)
    expect_tensor("cos", cos)
    expect_tensor("sin", sin)
    _expect_rotatable("x", x)
    tables = _Tables(cos, sin, interleaved, x.shape[-1], x.device)
    return _rotary(x, tables, result_type, inplace, code)


def _as_written(x, cos, sin, result_type, interleaved):
    """Whether the operands are none for the kernels and torch's operators know what to do with them."""
    if x.dim() == 0 or not (_written.is_factor(cos) and _written.is_factor(sin)):
        return False
    width = x.shape[-1]
    if width % 2:
        tables = isinstance(cos, torch.Tensor) and isinstance(sin, torch.Tensor)
        columns = tables and all(t.dim() and t.shape[-1] == width for t in (cos, sin))
        return columns and not interleaved
    if width == 0 or _written.is_usual(x, cos, sin):
        return width == 0
    return result_type == "promoted" or not x.is_complex()


@eager
def rotary_complex(
    x, freqs_cis, *, result_type="input", keep_shape=False, strides="x", inplace=False
):
    """Neighbours (x[2j], x[2j + 1]) as complex numbers, times ``freqs_cis``.

    Args:
        x: [..., D], D even, real; torch's operators compute for whole numbers.
        freqs_cis: complex, broadcasting against [..., D/2]; moved where it lies on another device. A
            real table counts as complex, as it does in the product that this call replaces.
        result_type: ``"input"``: x's type; ``"promoted"``: that of x and the parts of freqs_cis;
            ``"float32"``: that of ``x.float()`` and those parts.
        keep_shape: the result has x's shape, as what ends in ``reshape(x.shape)``: dimensions of one
            that only freqs_cis has are left out.
        strides: the first factor, whose stride order the result has: ``"x"`` or ``"freqs_cis"``; or
            ``"dense"``: contiguous.
        inplace: write over x, and return it; needs a result of x's shape and type.

    Returns:
        A real tensor of the broadcast shape, or of x's.

    Raises:
        ParametersInvalid: an argument has the wrong type, shape or value.
    """
    expect_tensor("x", x)
    expect_tensor("freqs_cis", freqs_cis)
    expect_choice("result_type", result_type, _RESULTS)
    code = _strides_code(strides, "freqs_cis")
    if inplace is False and not (_written.is_usual(x) and _is_table(freqs_cis) and x.shape[-1]):
        return _written.rotation_by_complex(x, freqs_cis, result_type, strides, keep_shape)
    _expect_rotatable("x", x)
    strides = code
    tables = _Tables(*_complex_parts(freqs_cis, x.shape[-1]), True, x.shape[-1], x.device)
    return _rotary(x, tables, result_type, inplace, strides, keep_shape)


@eager
def rotary_matrix(
    x, freqs, *, result_type="input", keep_shape=True, strides="freqs", inplace=False
):
    """Neighbours (x[2j], x[2j + 1]) as vectors, each multiplied by a 2×2 matrix.

    Args:
        x: [..., D], D even; torch's operators compute for whole numbers.
        freqs: [..., D/2, 2, 2], broadcasting against x's dimensions before the pairs; moved where it
            lies on another device.
        result_type: ``"input"``: x's type; ``"promoted"``: that of x and freqs; ``"float32"``: that
            of ``x.float()`` and freqs.
        keep_shape: the result has x's shape, as what ends in ``reshape(x.shape)``: freqs may enlarge
            none of x's dimensions. Without it, as what ends in ``flatten(-2)``, it may.
        strides: the first factor, whose stride order the result has: ``"freqs"`` or ``"x"``; ``"dense"``:
            products that are summed by ``sum(-1)`` give a contiguous result.
        inplace: write over x, and return it; needs a result of x's shape and type.

    Returns:
        A tensor of x's shape, or of the broadcast shape.

    Raises:
        ParametersInvalid: an argument has the wrong type, shape or value.
    """
    expect_tensor("x", x)
    expect_tensor("freqs", freqs)
    expect_choice("result_type", result_type, _RESULTS)
    code = _strides_code(strides, "freqs")
    if inplace is False and not (_written.is_usual(x, freqs) and x.shape[-1]):
        return _written.rotation_by_matrices(x, freqs, result_type, strides, keep_shape)
    _expect_rotatable("x", x)
    strides = code
    tables = _Tables(freqs, None, True, x.shape[-1], x.device)
    return _rotary(x, tables, result_type, inplace, strides, keep_shape)


def _tables_of(cos, sin, rotated_mode, x):
    """The three kinds of tables that query and key take."""
    expect_tensor("cos", cos)
    expect_tensor("sin", sin, optional=True)
    expect_choice("rotated_mode", rotated_mode, _PAIR_MODES)
    width = x.shape[-1]
    interleaved = True if sin is None else rotated_mode == "rotated_interleaved"
    if sin is None and cos.is_complex():
        cos, sin = _complex_parts(cos, width)
    return _Tables(cos, sin, interleaved, width, x.device)


def _rotary_qk(
    query, key, query_weight, key_weight, tables, norm, head_dim, eps, result_type, inplace
):
    expect_bool("inplace", inplace)
    expect_choice("result_type", result_type, _RESULTS)
    dtypes = [rotated_type(result_type, x.dtype, *tables.parts) for x in (query, key)]
    rows = tables.broadcast("query", query), tables.broadcast("key", key)
    cos, sin = tables.pair
    if inplace:
        _expect_writable("query", query, rows[0], dtypes[0])
        _expect_writable("key", key, rows[1], dtypes[1])
        _forms.rotary_qk_in_place(
            query, key, query_weight, key_weight, cos, sin, tables.interleaved, norm, head_dim, eps
        )
        return query, key
    if rows[0] != query.shape[:-1]:
        query = query.expand(*rows[0], query.shape[-1])
    if rows[1] != key.shape[:-1]:
        key = key.expand(*rows[1], key.shape[-1])
    return _forms.rotary_qk(
        query, key, query_weight, key_weight, cos, sin, tables.interleaved, norm, head_dim, eps,
        *dtypes,
    )  # fmt: skip


def _expect_pair(query, key):
    _expect_rotatable("query", query)
    _expect_rotatable("key", key)
    expect_same_device("key", key, "query", query)
    if query.shape[-1] != key.shape[-1]:
        raise ParametersInvalid(
            "query and key must have one head_dim, but have "
            f"{query.shape[-1]} and {key.shape[-1]}."
        )


@eager
def rotary_qk(
    query, key, cos, sin=None, rotated_mode="rotated_half", *, result_type="input", inplace=False
):
    """Query and key rotated in one launch.

    Args:
        query, key: [..., D] of one D, even. Heads and lengths may differ, as long as the tables
            broadcast against both by trailing dimensions.
        cos, sin: as in ``rotary_position_embedding``; or sin None, and cos a complex table [..., D/2]
            (``rotary_complex``) or one of 2×2 matrices [..., D/2, 2, 2] (``rotary_matrix``).
        rotated_mode: as in ``rotary_position_embedding``; not read without sin, where neighbours are
            the pairs.
        result_type, inplace: as in ``rotary_position_embedding``, for each.

    Returns:
        (query, key), each in the stride order of its input.

    Raises:
        ParametersInvalid: an argument has the wrong type, shape, device or value.
    """
    _expect_pair(query, key)
    tables = _tables_of(cos, sin, rotated_mode, query)
    return _rotary_qk(
        query, key, None, None, tables, _ops.QK_NORM_NONE, -2, 0.0, result_type, inplace
    )


@eager
def qk_norm_rotary(
    query,
    key,
    query_weight,
    key_weight,
    cos,
    sin=None,
    rotated_mode="rotated_half",
    *,
    eps=1e-6,
    across_heads=False,
    head_first=False,
    result_type="input",
    inplace=False,
):
    """RMSNorm of query and key, then their rotation, in one launch.

    Args:
        query, key: [B, S, N, D], or [B, N, S, D] with ``head_first``; heads and lengths may differ.
        query_weight, key_weight: None or [D]; with ``across_heads`` None or [N * D].
        cos, sin, rotated_mode, result_type, inplace: as in ``rotary_qk``.
        eps: added to the mean square.
        across_heads: the mean goes over all heads of a position together (Wan), not over each alone.
        head_first: where the heads are; read with ``across_heads``.

    Returns:
        (query, key). The normalised values are not rounded before they are rotated.

    Raises:
        ParametersInvalid: an argument has the wrong type, shape, device or value.
    """
    _expect_pair(query, key)
    expect_bool("across_heads", across_heads)
    expect_bool("head_first", head_first)
    eps = finite_number("eps", eps)
    if eps < 0.0:
        raise ParametersInvalid(f"eps must not be negative, but is {eps}.")
    head_dim = -3 if head_first else -2
    for name, x, weight in (("query", query, query_weight), ("key", key, key_weight)):
        if x.dim() != 4:
            raise ParametersInvalid(f"{name} must have 4 dimensions, but has {x.dim()}.")
        expect_tensor(f"{name}_weight", weight, optional=True)
        if weight is None:
            continue
        expect_same_device(f"{name}_weight", weight, name, x)
        size = x.shape[-1] * (x.shape[head_dim] if across_heads else 1)
        if weight.shape != (size,) or not weight.is_floating_point():
            raise ParametersInvalid(
                f"{name}_weight must be a floating tensor of shape [{size}], but is {weight.dtype} of "
                f"shape {list(weight.shape)}."
            )
    tables = _tables_of(cos, sin, rotated_mode, query)
    norm = _ops.QK_NORM_ALL if across_heads else _ops.QK_NORM_HEAD
    return _rotary_qk(
        query, key, query_weight, key_weight, tables, norm, head_dim, eps, result_type, inplace
    )


@overridable
def rotary_angles(
    x, freqs, *, start_index=0, scale=1.0, sequence_dim=-2, freqs_sequence_dim=None
):
    """Interleaved rotation of a part of x by angles, as rotary-embedding-torch's
    ``apply_rotary_emb(freqs, t, start_index, scale, seq_dim, freqs_seq_dim)``.

    Args:
        x: [..., S, D], the sequence in ``sequence_dim``.
        freqs: angles, [..., S', R] that broadcast against x's columns start_index … start_index + R;
            where freqs has two dimensions or x has three, its last S rows are taken.
        scale: a factor on cosine and sine, a number or a tensor that broadcasts against them.
        freqs_sequence_dim: the dimension of freqs that holds the sequence, where not the rule above.

    Returns:
        A contiguous tensor of x's shape and type: the function that it replaces joins parts.

    Raises:
        ParametersInvalid: the angles have more columns than x has after start_index.
    """
    expect_tensor("x", x)
    expect_tensor("freqs", freqs)
    if freqs_sequence_dim is None and (freqs.dim() == 2 or x.dim() == 3):
        freqs_sequence_dim = 0
    if freqs_sequence_dim is not None:
        length = x.shape[sequence_dim]
        rows = freqs.shape[freqs_sequence_dim]
        # The last `length` rows, as a slice from -length does it: all of them when there are fewer.
        first = max(rows - length, 0) if length else 0
        freqs = freqs.narrow(freqs_sequence_dim, first, rows - first)
    width = freqs.shape[-1]
    end = start_index + width
    if end > x.shape[-1]:
        raise ParametersInvalid(
            f"freqs has {width} columns from column {start_index} on, but x has only {x.shape[-1]}."
        )
    middle = rotary_position_embedding(
        x[..., start_index:end],
        freqs.cos() * scale,
        freqs.sin() * scale,
        "rotated_interleaved",
    )
    if start_index == 0 and end == x.shape[-1]:
        return middle.contiguous()
    return torch.cat((x[..., :start_index], middle, x[..., end:]), dim=-1)
