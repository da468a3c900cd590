"""Norm and rotation of so many tokens that blocks stay and fetch ahead (kernels/cuda/rotary_staged.cuh)."""

import math

import pytest
import torch
from gpu_support import (
    FORMS, HALVES, check, normal, normalised, of_all_sizes, poisoned, rotated, tables,
)  # fmt: skip

launchers = pytest.importorskip("launchers", reason="no library of launchers", exc_type=OSError)


def turn(q, k, table, matrix, interleaved, weights, outputs=None):
    """Runs the launcher and checks both results."""
    expected = []
    for x, weight in zip((q, k), weights, strict=True):
        y = normalised(x, "rms", 1e-6) * (1.0 if weight is None else weight.double())
        expected.append(rotated(y, matrix, interleaved))
    results = launchers.rotary(
        (q, k), outputs or (poisoned(q), poisoned(k)), *table, interleaved=interleaved, norm="row",
        weights=weights,
    )  # fmt: skip
    for result, (want, size) in zip(results, expected, strict=True):
        check(result, want, size.nan_to_num())


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
