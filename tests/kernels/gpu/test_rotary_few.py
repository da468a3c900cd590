"""Rotation, alone or after a norm, of so few rows that each has lanes of its own
(kernels/cuda/rotary_few.cuh), and of as many as it takes at most."""

import math

import pytest
import torch
from gpu_support import FORMS, HALVES, TYPES, normal, of_all_sizes, poisoned, tables
from test_rotary_staged import turn, turn_all

# Tokens of 16 and 16 heads: one, as many as start in small blocks on an H200, and in large ones.
LENGTHS = (1, 5, 131, 260)


@pytest.mark.parametrize("form,interleaved", FORMS)
@pytest.mark.parametrize("width", (8, 48, 64, 72, 80, 96, 128, 160, 256))
@pytest.mark.parametrize("dtype", TYPES)
def test_forms(form, interleaved, width, dtype):
    """With each form's tables of float32 and of the operands' type, with and without a norm."""
    for length in LENGTHS:
        for table_type in {torch.float32, dtype}:
            if form == "complex" and table_type != torch.float32:
                continue
            q, k = (normal(1, length, 16, width, dtype=dtype) for _ in range(2))
            table, matrix = tables(form, (length, 1), width, table_type)
            weights = [normal(width, dtype=dtype), normal(width)]
            turn(q, k, table, matrix, interleaved, weights)
            turn(q, k, table, matrix, interleaved, None)


@pytest.mark.parametrize("heads,key_heads", [(24, 8), (1, 1), (7, 3), (40, 40), (16, 1)])
@pytest.mark.parametrize("form,interleaved", (FORMS[0], FORMS[4]))
def test_heads_and_samples(form, interleaved, heads, key_heads):
    for lead in ((17, 1), (3, 17, 1), (3, 1, 1)):
        for width in (72, 128):
            q = normal(3, 17, heads, width, dtype=torch.bfloat16)
            k = normal(3, 17, key_heads, width, dtype=torch.bfloat16)
            table, matrix = tables(form, lead, width, torch.float32)
            turn(q, k, table, matrix, interleaved, [normal(width), None])
            turn_all((k,), table, matrix, interleaved, None)


@pytest.mark.parametrize("width", (64, 72, 128))
def test_layouts_and_in_place(width):
    """A packed projection, tokens behind heads, and results over the input and of float32."""
    packed = normal(2, 19, 3, 16, width, dtype=torch.float16)
    q, k = packed[:, :, 0], packed[:, :, 1]
    table, matrix = tables("full-halves", (19, 1), width, torch.float32)
    weights = [normal(width), normal(width)]
    turn(q, k, table, matrix, False, weights)
    turn(q.transpose(1, 2), k.transpose(1, 2), *by_token(table, matrix), False, weights)
    heads_first = normal(2, 16, 19, width, dtype=torch.float16).transpose(1, 2)
    turn(heads_first, k, table, matrix, False, weights)
    wide = [poisoned(x, torch.float32) for x in (q, k)]
    turn(q, k, table, matrix, False, weights, outputs=wide)
    value = packed[:, :, 2].clone()
    turn(q, k, table, matrix, False, weights, outputs=(q, k))
    assert torch.equal(packed[:, :, 2], value)


def by_token(table, matrix):
    """Tables of [token, 1, ...] for operands of [sample, head, token, width]."""
    return tuple(part.transpose(0, 1) for part in table), matrix.transpose(0, 1)


@pytest.mark.parametrize("form,interleaved", FORMS[:3])
@pytest.mark.parametrize("width", (72, 128))
@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16))
def test_squares_beyond_float32(form, interleaved, width, dtype):
    q, k = (of_all_sizes(1, 33, 16, width, dtype=dtype) for _ in range(2))
    q[0, 0, 12], k[0, 5] = 0, k[0, 6]
    q, k = q.nan_to_num(0.0, 0.0, 0.0), k.nan_to_num(0.0, 0.0, 0.0)
    table, matrix = tables(form, (33, 1), width, torch.float32)
    turn(q, k, table, matrix, interleaved, [normal(width), None])


@pytest.mark.parametrize("dtype", HALVES)
def test_nan_stays_in_its_row(dtype):
    q, k = (normal(1, 21, 16, 72, dtype=dtype) for _ in range(2))
    q[0, 0, 3, 5], q[0, 20, 15, 71], k[0, 11, 0, 0] = math.nan, math.nan, math.nan
    table, matrix = tables("full-halves", (21, 1), 72, torch.float32)
    turn(q, k, table, matrix, False, [None, None])


def test_tables_that_do_not_lie_in_order():
    """Rows of a longer table, apart, and one for all tokens; a table for each head."""
    q, k = normal(2, 20, 16, 72, dtype=torch.bfloat16), normal(2, 20, 4, 72, dtype=torch.bfloat16)
    (cos, sin), matrix = tables("full-halves", (60, 1), 72, torch.float32)
    for part in (slice(7, 27), slice(0, 60, 3), slice(5, 6)):
        turn(q, k, (cos[part], sin[part]), matrix[part], False, [normal(72), None])
    samples = (cos[:40].view(2, 20, 1, 72).flip(0), sin[:40].view(2, 20, 1, 72).flip(0))
    turn(q, k, samples, matrix[:40].view(2, 20, 1, 36, 2, 2).flip(0), False, [normal(72), None])
    table, matrix = tables("full-halves", (20, 16), 72, torch.float32)
    turn_all((q,), table, matrix, False, [normal(72)])


def test_samples_farther_apart_than_32_bits_count():
    """In elements; such strides are left to the other kernels."""
    step = 2**31 + 64
    room = torch.empty(step + 2**16, dtype=torch.bfloat16, device="cuda")
    q = room.as_strided((2, 5, 4, 72), (step, 4 * 72, 72, 1))
    q.copy_(normal(2, 5, 4, 72))
    k = normal(2, 5, 4, 72, dtype=torch.bfloat16)
    table, matrix = tables("full-halves", (5, 1), 72, torch.float32)
    turn(q, k, table, matrix, False, [normal(72), None], outputs=[poisoned(k), poisoned(k)])
