"""Weighted sums: every type, numbers of terms, sizes that leave a rest, addresses between vectors, over a term."""

import pytest
import torch
from gpu_support import TYPES, check, normal, poisoned

launchers = pytest.importorskip("launchers", reason="no library of launchers", exc_type=OSError)

WEIGHTS = (55.0, -59.0, 37.0, -9.0, 0.25, -0.125, 1.5, 3.0)
# Less than a vector, a vector and a rest, blocks and a rest, more than one wave.
SIZES = (1, 5, 9, 2048, 100003, 50_000_000)


def expected(terms, scale):
    """(the sum in float64, the sum of the magnitudes)."""
    parts = [weight * x.double() * scale for weight, x in zip(WEIGHTS, terms)]
    return sum(parts), sum(part.abs() for part in parts)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("count", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("like", [None, "unaligned"])
def test_sums(dtype, count, like):
    for size in SIZES[: 5 if like else 6]:
        terms = [normal(size, dtype=dtype, like=like) for _ in range(count)]
        result = launchers.weighted_sum(terms, WEIGHTS[:count], poisoned(terms[0]), 1 / 24)
        wanted, sizes = expected(terms, 1 / 24)
        check(result, wanted, sizes)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_over_a_term(dtype):
    terms = [normal(100003, dtype=dtype) for _ in range(3)]
    wanted, sizes = expected(terms, 1.0)
    check(launchers.weighted_sum(terms, WEIGHTS[:3], terms[1]), wanted, sizes)


def test_what_is_not_finite():
    terms = [normal(100) for _ in range(3)]
    terms[0][3] = terms[1][3] = float("inf")
    terms[1][7] = float("nan")
    terms[2][99] = float("-inf")
    result = launchers.weighted_sum(terms, WEIGHTS[:3], torch.empty_like(terms[0]))
    assert result[3].isnan() and result[7].isnan() and result[99] == float("-inf")
    assert int(result.isfinite().sum()) == 97
