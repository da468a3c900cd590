"""Rotation by tables that no vector reads: of any step, type, alignment and width, alone and after a
norm (kernels/cuda/rotary.cuh, LooseTables), and operands that no vector reads either."""

import pytest
import torch
from gpu_support import FORMS, TYPES, check, normal, normalised, poisoned, rotated, tables

launchers = pytest.importorskip("launchers", reason="no library of launchers", exc_type=OSError)

TABLE_TYPES = (*TYPES, torch.float64)


def spread(table, how):
    """The same numbers, lying otherwise in memory."""
    if how == "every second":  # Wan: cos[..., 0::2]
        wide = torch.empty(*table.shape[:-1], 2 * table.shape[-1], dtype=table.dtype, device="cuda")
        wide[..., 1::2] = table
        return wide[..., 1::2]
    if how == "unaligned":
        flat = torch.empty(table.numel() + 1, dtype=table.dtype, device="cuda")
        flat[1:] = table.flatten()
        return flat[1:].view(table.shape)
    if how == "transposed":
        return table.transpose(0, -1).contiguous().transpose(0, -1)
    return table


@pytest.mark.parametrize("how", ("every second", "unaligned", "transposed", "dense"))
@pytest.mark.parametrize("form,interleaved", FORMS)
@pytest.mark.parametrize("span", (None, "row", "heads"))
@pytest.mark.parametrize("dtype", TYPES)
def test_tables(form, interleaved, span, dtype, how):
    for width in (8, 24, 72, 80, 128, 256, 6, 74):
        for table_type in TABLE_TYPES:
            (cos, sin), matrix = tables(form, (37, 1), width, table_type)
            if form == "complex":
                if table_type in (torch.float16, torch.bfloat16):
                    continue
                cos = cos.to(torch.complex128 if table_type == torch.float64 else torch.complex64)
            cos, sin = spread(cos, how), None if sin is None else spread(sin, how)
            turn_all(width, cos, sin, matrix, interleaved, span, dtype)


def turn_all(width, cos, sin, matrix, interleaved, span, dtype, like=None):
    operands = [normal(2, 37, heads, width, dtype=dtype, like=like) for heads in (5, 3)]
    weights = None
    if span is not None:
        weights = [normal(width * (x.shape[2] if span == "heads" else 1)) for x in operands]
    results = launchers.rotary(
        operands, [poisoned(x) for x in operands], cos, sin, interleaved=interleaved, norm=span,
        weights=weights,
    )  # fmt: skip
    for i, (x, result) in enumerate(zip(operands, results, strict=True)):
        if span is None:
            check(result, *rotated(x, matrix, interleaved))
            continue
        y = normalised(x.flatten(2) if span == "heads" else x, "rms", 1e-6)
        y = (y * weights[i].double()).view(x.shape)
        check(result, *rotated(y, matrix, interleaved))


@pytest.mark.parametrize("form,interleaved", FORMS)
def test_tables_of_two_types(form, interleaved):
    """Cosines and sines of one call need not be alike."""
    if form in ("complex", "matrix"):
        pytest.skip("one table")
    for width in (64, 72):
        (cos, sin), _ = tables(form, (37, 1), width, torch.float32)
        cos, sin = spread(cos.bfloat16(), "every second"), sin.double()
        matrix = matrix_of(form, cos, sin)
        for span in (None, "row", "heads"):
            turn_all(width, cos, sin, matrix, interleaved, span, torch.bfloat16)


def matrix_of(form, cos, sin):
    half = cos.shape[-1] // 2
    if form == "half-width":
        parts = (cos, sin, sin, cos)
    elif form == "full-halves":
        parts = (cos[..., :half], sin[..., :half], sin[..., half:], cos[..., half:])
    else:
        parts = (cos[..., ::2], sin[..., ::2], sin[..., 1::2], cos[..., 1::2])
    ca, sa, sb, cb = (part.double() for part in parts)
    return torch.stack((ca, -sa, sb, cb), -1).unflatten(-1, (2, 2))


@pytest.mark.parametrize("like", ("unaligned", "padded", "strided", "transposed"))
@pytest.mark.parametrize("form,interleaved", FORMS)
@pytest.mark.parametrize("dtype", TYPES)
def test_operands_and_tables(form, interleaved, dtype, like):
    for width in (2, 64, 72, 130, 258):
        (cos, sin), matrix = tables(form, (37, 1), width, torch.float32)
        for span in (None, "row", "heads"):
            turn_all(width, cos, sin, matrix, interleaved, span, dtype, like)


@pytest.mark.parametrize("lead", ((1, 1), (2, 37, 1), (37, 5), (2, 37, 5)))
@pytest.mark.parametrize("form,interleaved", FORMS)
def test_broadcast(form, interleaved, lead):
    """One row for all, rows per sample, per head, and both."""
    for table_type in (torch.float32, torch.float64):
        (cos, sin), matrix = tables(form, lead, 64, table_type)
        cos, sin = (None if t is None else spread(t, "every second") for t in (cos, sin))
        x = normal(2, 37, 5, 64, dtype=torch.bfloat16)
        (result,) = launchers.rotary((x,), (poisoned(x),), cos, sin, interleaved=interleaved)
        check(result, *rotated(x, matrix, interleaved))
