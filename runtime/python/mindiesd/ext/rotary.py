"""Rotary embedding in its general form, by real tables, complex tables and angles."""

import torch

from .. import _ops
from .._checks import expect_choice, expect_inference, expect_tensor
from ..utils import ParametersInvalid


def _rotary_type(result_type, x, cos, sin):
    if result_type == "input":
        return x.dtype
    if result_type == "promoted":
        return torch.promote_types(torch.promote_types(x.dtype, cos.dtype), sin.dtype)
    return torch.float32


def _rotary(x, cos, sin, interleaved, result_type):
    width = x.shape[-1]
    if width % 2:
        raise ParametersInvalid(
            f"x must have an even last dimension, but has shape {list(x.shape)}."
        )
    if cos.device != x.device:
        cos = cos.to(x.device)
    if sin.device != x.device:
        sin = sin.to(x.device)
    if cos.shape[-1] == 1 and sin.shape[-1] == 1 and width > 2:  # one angle for the whole row
        cos, sin = cos.expand(*cos.shape[:-1], width), sin.expand(*sin.shape[:-1], width)
    if cos.shape[-1] != sin.shape[-1] or cos.shape[-1] not in (width, width // 2):
        raise ParametersInvalid(
            f"cos and sin must both have {width} or both {width // 2} columns for x of shape "
            f"{list(x.shape)}, but have shapes {list(cos.shape)} and {list(sin.shape)}."
        )
    try:
        rows = torch.broadcast_shapes(x.shape[:-1], cos.shape[:-1], sin.shape[:-1])
    except RuntimeError:
        raise ParametersInvalid(
            f"cos and sin must broadcast against x by trailing dimensions, but x has shape "
            f"{list(x.shape)}, cos {list(cos.shape)} and sin {list(sin.shape)}."
        ) from None
    if rows != x.shape[:-1]:
        x = x.expand(*rows, width)
    return _ops.rotary_position_embedding(
        x, cos, sin, interleaved, _rotary_type(result_type, x, cos, sin)
    )


def rotary_position_embedding(
    x, cos, sin, rotated_mode="rotated_half", *, result_type="input"
):
    """x * cos + rotate(x) * sin along the last dimension.

    Args:
        x: [..., D], D even.
        cos, sin: broadcast against x by trailing dimensions; the last is D, or D/2 with one value for
            each pair. Tables on another device are moved.
        rotated_mode: ``"rotated_half"``: pairs (x[j], x[j + D/2]); ``"rotated_interleaved"``: pairs
            (x[2j], x[2j + 1]). A pair (a, b) turns into (-b, a).
        result_type: ``"input"``: x's type; ``"promoted"``: that of x, cos and sin; ``"float32"``.

    Returns:
        A tensor of the broadcast shape, in the stride order of x.

    Raises:
        ParametersInvalid: an argument has the wrong type, shape or value.
    """
    expect_tensor("x", x)
    expect_tensor("cos", cos)
    expect_tensor("sin", sin)
    expect_inference(x, cos, sin)
    expect_choice("rotated_mode", rotated_mode, ("rotated_half", "rotated_interleaved"))
    expect_choice("result_type", result_type, ("input", "promoted", "float32"))
    for name, tensor in (("x", x), ("cos", cos), ("sin", sin)):
        if tensor.dim() == 0 or not tensor.is_floating_point():
            raise ParametersInvalid(
                f"{name} must be a floating tensor with at least one dimension, but is "
                f"{tensor.dtype} of shape {list(tensor.shape)}."
            )
    return _rotary(x, cos, sin, rotated_mode == "rotated_interleaved", result_type)


def rotary_complex(x, freqs_cis, *, result_type="input"):
    """Neighbours (x[2j], x[2j + 1]) as complex numbers, times ``freqs_cis``.

    Args:
        x: [..., D], D even, real.
        freqs_cis: complex, broadcasting against [..., D/2]; moved where it lies on another device.
        result_type: ``"input"``: x's type; ``"promoted"``: that of x and the parts of freqs_cis;
            ``"float32"``.

    Returns:
        A real tensor [..., D].

    Raises:
        ParametersInvalid: an argument has the wrong type, shape or value.
    """
    expect_tensor("x", x)
    expect_tensor("freqs_cis", freqs_cis)
    expect_inference(x, freqs_cis)
    expect_choice("result_type", result_type, ("input", "promoted", "float32"))
    if x.dim() == 0 or not x.is_floating_point():
        raise ParametersInvalid(
            f"x must be a floating tensor with at least one dimension, but is {x.dtype} of shape "
            f"{list(x.shape)}."
        )
    if freqs_cis.dim() == 0 or not freqs_cis.is_complex():
        raise ParametersInvalid(
            "freqs_cis must be a complex tensor with at least one dimension, but is "
            f"{freqs_cis.dtype} of shape {list(freqs_cis.shape)}."
        )
    parts = torch.view_as_real(freqs_cis.resolve_conj())
    cos, sin = parts[..., 0], parts[..., 1]
    half = x.shape[-1] // 2
    if cos.shape[-1] == 1 and half != 1:
        cos, sin = cos.expand(*cos.shape[:-1], half), sin.expand(*sin.shape[:-1], half)
    if cos.shape[-1] != half:
        raise ParametersInvalid(
            f"freqs_cis must have {half} columns, half of x's, but has shape "
            f"{list(freqs_cis.shape)}."
        )
    return _rotary(x, cos, sin, True, result_type)


def rotary_matrix(x, freqs, *, result_type="input"):
    """Neighbours (x[2j], x[2j + 1]) as vectors, each multiplied by a 2×2 matrix.

    Composed of torch operators: matrices need not be rotations, so there is no table of cosines to
    hand to the rotary kernel.

    Args:
        x: [..., D], D even, floating.
        freqs: [..., D/2, 2, 2], broadcasting against x's dimensions before the pairs; moved where it
            lies on another device.
        result_type: ``"input"``: x's type; ``"promoted"``: that of x and freqs; ``"float32"``.

    Returns:
        A tensor of x's shape.

    Raises:
        ParametersInvalid: an argument has the wrong type, shape or value.
    """
    expect_tensor("x", x)
    expect_tensor("freqs", freqs)
    expect_inference(x, freqs)
    expect_choice("result_type", result_type, ("input", "promoted", "float32"))
    if x.dim() == 0 or not x.is_floating_point() or x.shape[-1] % 2:
        raise ParametersInvalid(
            "x must be a floating tensor whose last dimension is even, but is "
            f"{x.dtype} of shape {list(x.shape)}."
        )
    if freqs.dim() < 3 or freqs.shape[-2:] != (2, 2) or not freqs.is_floating_point():
        raise ParametersInvalid(
            "freqs must be a floating tensor of 2×2 matrices, [..., D/2, 2, 2], but is "
            f"{freqs.dtype} of shape {list(freqs.shape)}."
        )
    wide = torch.promote_types(torch.promote_types(x.dtype, freqs.dtype), torch.float32)
    table = freqs.to(device=x.device, dtype=wide)
    pairs = x.to(wide).reshape(*x.shape[:-1], -1, 1, 2)
    out = table[..., 0] * pairs[..., 0] + table[..., 1] * pairs[..., 1]
    if result_type == "input":
        wide = x.dtype
    elif result_type == "promoted":
        wide = torch.promote_types(x.dtype, freqs.dtype)
    else:
        wide = torch.promote_types(x.dtype, torch.float32)
    return out.reshape(x.shape).to(wide)


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
        A tensor of x's shape and type.

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
        return middle
    return torch.cat((x[..., :start_index], middle, x[..., end:]), dim=-1)
