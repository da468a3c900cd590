"""Rotation, mostly after a norm, of so many tokens that blocks stay and fetch ahead
(kernels/cuda/rotary_staged.cuh)."""

import math

import pytest
import torch
from gpu_support import (
    FORMS, HALVES, TYPES, check, normal, normalised, of_all_sizes, poisoned, rotated, tables,
)  # fmt: skip

launchers = pytest.importorskip("launchers", reason="no library of launchers", exc_type=OSError)


def turn_all(inputs, table, matrix, interleaved, weights, outputs=None):
    """Runs the launcher and checks all results. ``weights``: None where there is no norm."""
    expected = []
    for i, x in enumerate(inputs):
        if weights is None:
            y = x.double()
        else:
            y = normalised(x, "rms", 1e-6)
            y = y if weights[i] is None else y * weights[i].double()
        expected.append(rotated(y, matrix, interleaved))
    results = launchers.rotary(
        inputs, outputs or [poisoned(x) for x in inputs], *table, interleaved=interleaved,
        norm=None if weights is None else "row", weights=weights,
    )  # fmt: skip
    for result, (want, size) in zip(results, expected, strict=True):
        check(result, want, size.nan_to_num())


def turn(q, k, table, matrix, interleaved, weights, outputs=None):
    turn_all((q, k), table, matrix, interleaved, weights, outputs)


@pytest.mark.parametrize("form,interleaved", FORMS)
@pytest.mark.parametrize("width", (72, 80, 96))
@pytest.mark.parametrize("dtype", HALVES)
def test_forms(form, interleaved, width, dtype):
    q, k = (normal(1, 1701, 16, width, dtype=dtype) for _ in range(2))  # the last tile is half full
    table, matrix = tables(form, (1701, 1), width, torch.float32)
    turn(q, k, table, matrix, interleaved, [normal(width, dtype=dtype), normal(width, dtype=dtype)])


@pytest.mark.parametrize("heads", (12, 20, 24, 40))
@pytest.mark.parametrize("form,interleaved", FORMS[:3])
def test_heads_and_samples(form, interleaved, heads):
    """As many heads as a block takes, several blocks for a token, and a table for each sample."""
    for lead in ((901, 1), (2, 901, 1)):
        q, k = (normal(2, 901, heads, 72, dtype=torch.bfloat16) for _ in range(2))
        table, matrix = tables(form, lead, 72, torch.float32)
        turn(q, k, table, matrix, interleaved, [normal(72), None])


@pytest.mark.parametrize("width", (72, 96))
def test_packed_projection_and_in_place(width):
    packed = normal(2, 1200, 3, 16, width, dtype=torch.float16)
    q, k = packed[:, :, 0], packed[:, :, 1]
    table, matrix = tables("full-halves", (1200, 1), width, torch.float32)
    weights = [normal(width), normal(width)]
    turn(q, k, table, matrix, False, weights)
    value = packed[:, :, 2].clone()
    turn(q, k, table, matrix, False, weights, outputs=(q, k))
    assert torch.equal(packed[:, :, 2], value)


@pytest.mark.parametrize("form,interleaved", FORMS[:3])
@pytest.mark.parametrize("width", (72, 80, 96))
def test_squares_beyond_float32(form, interleaved, width):
    q, k = (of_all_sizes(1, 1701, 16, width, dtype=torch.bfloat16) for _ in range(2))
    q[0, 0, 12], k[0, 5] = 0, k[0, 6]
    q, k = q.nan_to_num(0.0, 0.0, 0.0), k.nan_to_num(0.0, 0.0, 0.0)
    table, matrix = tables(form, (1701, 1), width, torch.float32)
    turn(q, k, table, matrix, interleaved, [normal(width), None])


def test_nan_and_infinity_stay_in_their_row():
    q, k = (normal(1, 3000, 16, 72, dtype=torch.bfloat16) for _ in range(2))
    q[0, 0, 3, 5], q[0, 2999, 15, 71], k[0, 1501, 0, 0] = math.nan, math.nan, math.nan
    table, matrix = tables("full-halves", (3000, 1), 72, torch.float32)
    turn(q, k, table, matrix, False, [None, None])


@pytest.mark.parametrize("form,interleaved", FORMS[:4])
@pytest.mark.parametrize("width", (72, 80, 96))
@pytest.mark.parametrize("dtype", HALVES)
def test_tables_of_half_precision(form, interleaved, width, dtype):
    """Also where a token's table is no multiple of 16 bytes, in samples of even and odd length."""
    for lead in ((1702, 1), (2, 902, 1), (1701, 1)):
        q, k = (normal(len(lead) - 1, lead[-2], 16, width, dtype=dtype) for _ in range(2))
        table, matrix = tables(form, lead, width, dtype)
        turn(q, k, table, matrix, interleaved, [normal(width, dtype=dtype), None])
    q, k = (normal(2, 902, 16, width, dtype=dtype) for _ in range(2))
    table, matrix = tables(form, (902, 1), width, dtype)
    turn(q, k, table, matrix, interleaved, [None, normal(width)])


def test_matrices_of_half_precision():
    q, k = (normal(2, 902, 16, 72, dtype=torch.bfloat16) for _ in range(2))
    table, matrix = tables("matrix", (902, 1), 72, torch.bfloat16)
    turn(q, k, table, matrix, True, [normal(72), None])


@pytest.mark.parametrize(
    "heads,key_heads", [(16, 4), (24, 8), (32, 8), (16, 2), (16, 1), (6, 5), (7, 7), (40, 8), (100, 20)]
)
@pytest.mark.parametrize("form,interleaved", (FORMS[0], FORMS[4]))
def test_query_and_key_of_different_heads(form, interleaved, heads, key_heads):
    for width, dtype in ((72, torch.bfloat16), (96, torch.float16), (80, torch.float32)):
        q = normal(2, 1201, heads, width, dtype=dtype)
        k = normal(2, 1201, key_heads, width, dtype=dtype)
        table, matrix = tables(form, (1201, 1), width, torch.float32)
        turn(q, k, table, matrix, interleaved, [normal(width, dtype=dtype), normal(width)])


@pytest.mark.parametrize("form,interleaved", FORMS)
@pytest.mark.parametrize("width", (72, 80, 96))
def test_float32(form, interleaved, width):
    q, k = normal(1, 1701, 16, width), normal(1, 1701, 4, width)
    table, matrix = tables(form, (1701, 1), width, torch.float32)
    turn(q, k, table, matrix, interleaved, [normal(width), None])
    q = of_all_sizes(1, 1701, 16, width, dtype=torch.float32).nan_to_num(0.0, 0.0, 0.0)
    turn(q, k, table, matrix, interleaved, [None, normal(width)])


@pytest.mark.parametrize("form,interleaved", FORMS)
@pytest.mark.parametrize("width", (72, 80, 96))
@pytest.mark.parametrize("dtype", TYPES)
def test_without_a_norm(form, interleaved, width, dtype):
    q, k = normal(1, 2301, 16, width, dtype=dtype), normal(1, 2301, 4, width, dtype=dtype)
    table, matrix = tables(form, (2301, 1), width, torch.float32 if form == "complex" else dtype)
    turn(q, k, table, matrix, interleaved, None)
    turn_all((q,), table, matrix, interleaved, None)


@pytest.mark.parametrize("width", (72, 80, 96))
def test_one_operand(width):
    q = normal(2, 1501, 16, width, dtype=torch.bfloat16)
    table, matrix = tables("half-width", (1501, 1), width, torch.float32)
    turn_all((q,), table, matrix, False, [normal(width)])


def test_tables_that_do_not_lie_in_order():
    """Rows of a longer table, apart, reversed, and one for all tokens."""
    q, k = normal(2, 1000, 16, 72, dtype=torch.bfloat16), normal(2, 1000, 4, 72, dtype=torch.bfloat16)
    (cos, sin), matrix = tables("full-halves", (3000, 1), 72, torch.float32)
    for part in (slice(7, 1007), slice(0, 3000, 3)):
        turn(q, k, (cos[part], sin[part]), matrix[part], False, [normal(72), None])
    one = slice(5, 6)
    turn(q, k, (cos[one], sin[one]), matrix[one], False, [normal(72), None])
    samples = (cos[:2000].view(2, 1000, 1, 72).flip(0), sin[:2000].view(2, 1000, 1, 72).flip(0))
    turn(q, k, samples, matrix[:2000].view(2, 1000, 1, 36, 2, 2).flip(0), False, [normal(72), None])
