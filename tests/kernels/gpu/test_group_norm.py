"""GroupNorm: groups that one block holds and that several share, planes of any size, channels last, every type."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from gpu_support import HALVES, TYPES, check, normal, poisoned

launchers = pytest.importorskip("launchers", reason="no library of launchers", exc_type=OSError)

LAST = torch.channels_last
# Sizes, groups: held by one block; shared, of one part and of many; a value at a time; one position.
PLANES = (
    ((2, 64, 16, 16), 32), ((3, 1280, 8, 8), 32), ((1, 64, 96, 96), 2), ((2, 320, 128, 128), 32), ((1, 8, 1024, 1536), 1),
    ((2, 12, 7, 9), 3), ((1, 3, 1021, 333), 1), ((2, 33, 1, 1), 11), ((1, 6, 40001), 6), ((70000, 2, 8, 1), 2),
)  # fmt: skip
CHANNELS = (
    ((2, 64, 16, 16), 32), ((2, 320, 128, 128), 32), ((1, 1280, 5, 3), 32), ((2, 1920, 20, 20), 32),
    ((1, 8, 300, 7), 1), ((3, 2560, 4, 4), 32), ((1, 128, 1024, 1024), 32), ((1, 520, 64, 64), 65),
)  # fmt: skip


def terms(x, groups, weight, bias, silu, eps=1e-5):
    """(the result in float64, the magnitude of its terms, the rounding of the mean)."""
    x = x.double()
    parts = x.reshape(x.shape[0], groups, -1)
    root = (parts.var(-1, correction=0, keepdim=True) + eps).rsqrt()
    extra = (4e-7 * parts.abs().amax(-1, keepdim=True) * root).expand_as(parts).reshape(x.shape)
    y = F.group_norm(x, groups, None, None, eps)
    channels = (-1, *[1] * (x.dim() - 2))
    size = y.abs()
    if weight is not None:
        factor = weight.double().view(channels)
        y, size, extra = y * factor, size * factor.abs(), extra * factor.abs()
    if bias is not None:
        y, size = y + bias.double().view(channels), size + bias.double().abs().view(channels)
    return (F.silu(y) if silu else y), size, extra


def run(shape, groups, dtype, last, silu, affine, target=None, vectors=None, mean=0.0):
    x = (normal(*shape) + mean).to(dtype)
    weight, bias = (normal(shape[1], dtype=vectors or dtype) if affine else None for _ in range(2))
    if last:
        x = x.contiguous(memory_format=LAST)
    result = launchers.group_norm(x, poisoned(x, target), groups, weight, bias, 1e-5, silu=silu)
    check(result, *terms(x, groups, weight, bias, silu))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("silu", (False, True))
@pytest.mark.parametrize("affine", (False, True))
def test_planes(dtype, silu, affine):
    for shape, groups in PLANES:
        run(shape, groups, dtype, False, silu, affine)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("silu", (False, True))
@pytest.mark.parametrize("affine", (False, True))
def test_channels_last(dtype, silu, affine):
    for shape, groups in CHANNELS:
        if shape[1] * dtype.itemsize <= 512 * 16:
            run(shape, groups, dtype, True, silu, affine)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("last", (False, True))
def test_other_types_and_means(dtype, last):
    for target, vectors, mean in itertools.product((None, torch.float32), (torch.float32, None), (0.0, 40.0)):
        run((2, 64, 24, 24), 8, dtype, last, True, True, target, vectors, mean)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("last", (False, True))
def test_in_place_and_apart(dtype, last):
    """Samples with gaps between them, and a result in the operand's place."""
    layout = LAST if last else torch.contiguous_format
    for shape in ((2, 64, 16, 16), (2, 64, 96, 96)):
        wide = normal(4, *shape[1:], dtype=dtype).contiguous(memory_format=layout)
        x = wide[::2]
        expected = terms(x, 8, None, None, False)
        check(launchers.group_norm(x, x, 8), *expected)


@pytest.mark.parametrize("last", (False, True))
def test_nan_and_infinity_stay_in_their_groups(last):
    for size in (16, 96):
        x = normal(2, 32, size, size)
        x[0, 3, 2, 1], x[1, 30, 0, 0] = math.nan, math.inf
        x = x.contiguous(memory_format=LAST) if last else x
        result = launchers.group_norm(x, poisoned(x), 4)
        nans = result.isnan().unflatten(1, (4, 8)).flatten(2)
        assert torch.equal(nans.all(-1), nans.any(-1))
        assert nans.any(-1).nonzero().tolist() == [[0, 0], [1, 3]]


def test_other_strides_are_refused():
    x = normal(2, 32, 16, 16)
    for view in (x.transpose(2, 3), x[:, :, ::2], x[..., ::2]):
        with pytest.raises(launchers.Unsupported):
            launchers.group_norm(view, poisoned(view), 4)
    with pytest.raises(launchers.Unsupported):  # one lies as planes, the other has channels last
        launchers.group_norm(x, poisoned(x.contiguous(memory_format=LAST)), 4)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("last", (False, True))
def test_equal_values_have_no_deviation(dtype, last):
    for shape in ((2, 64, 16, 16), (2, 64, 96, 96), (1, 320, 40, 40)):
        x = torch.full(shape, 1000.0, device="cuda", dtype=dtype)
        x = x.contiguous(memory_format=LAST) if last else x
        assert not launchers.group_norm(x, poisoned(x), 32).any()
