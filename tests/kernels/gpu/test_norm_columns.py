"""Norms of rows that lie side by side in memory (kernels/cuda/norm_columns.cu)."""

import pytest
import torch
from gpu_support import TYPES, check, normal, normalised, of_all_sizes, poisoned, rounding_of_mean

launchers = pytest.importorskip("launchers", reason="no library of launchers", exc_type=OSError)

# Full tiles of 32 rows and 128 columns, parts of them, and what is left to the kernel for any strides.
SHAPES = ((2, 64, 256), (3, 33, 130), (1, 1000, 1152), (2, 257, 3072), (1, 31, 256), (2, 40, 100))


def in_columns(x):
    """The same values, the elements of a column one behind the other."""
    return x.transpose(-2, -1).contiguous().transpose(-2, -1)


def dense(x):
    return torch.full(x.shape, 123.0, device=x.device, dtype=x.dtype)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", TYPES)
def test_norms(shape, dtype):
    width = shape[-1]
    x = in_columns(normal(*shape, dtype=dtype) + 3)
    weight, bias = normal(width, dtype=dtype), normal(width, dtype=torch.float32)
    check(launchers.rms_norm(x, dense(x), weight), normalised(x, "rms", 1e-6) * weight.double())
    y, extra = normalised(x, "layer", 1e-5) * weight.double(), rounding_of_mean(x, 1e-5) * weight.double().abs()
    size = y.abs() + bias.double().abs()
    for out in (dense(x), poisoned(x)):  # poisoned: in columns, too
        check(launchers.fused_norm(x, out, weight=weight, bias=bias), y + bias.double(), size, extra)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("lead", ("sample", "token"))
def test_scale_and_shift(shape, dtype, lead):
    x = in_columns(normal(*shape, dtype=dtype))
    like = (shape[0], 1 if lead == "sample" else shape[1], shape[2])
    scale, shift = normal(*like, dtype=dtype), in_columns(normal(*like))
    y, factor = normalised(x, "layer", 1e-5), 1 + scale.double()
    check(
        launchers.fused_norm(x, dense(x), scale=scale, shift=shift), y * factor + shift.double(),
        (y * factor).abs() + shift.double().abs(), rounding_of_mean(x, 1e-5) * factor.abs(),
    )  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("which", ("input", "branch", "both"))
@pytest.mark.parametrize("tanh", (False, True))
def test_gated_block(shape, dtype, which, tanh):
    """The sum lies as the input does; the branch of a projection is dense."""
    x, branch = normal(*shape, dtype=dtype), normal(*shape, dtype=dtype)
    x = x if which == "branch" else in_columns(x)
    branch = branch if which == "input" else in_columns(branch)
    gate = normal(shape[0], 1, shape[2], dtype=dtype)
    scale, shift = (normal(shape[0], 1, shape[2], dtype=dtype) for _ in range(2))
    total, result = poisoned(x), dense(x)
    launchers.fused_norm(
        x, result, branch=branch, gate=gate, sum=total, scale=scale, shift=shift, gate_tanh=tanh
    )
    product = branch.double() * (gate.double().tanh() if tanh else gate.double())
    expected = x.double() + product
    check(total, expected, x.double().abs() + product.abs())
    y, factor = normalised(expected, "layer", 1e-5), 1 + scale.double()
    check(
        result, y * factor + shift.double(), (y * factor).abs() + shift.double().abs(),
        rounding_of_mean(expected, 1e-5) * factor.abs(),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16))
@pytest.mark.parametrize("kind", ("rms", "layer"))
def test_values_of_all_sizes(dtype, kind):
    """Rows whose squares do not fit float32, NaN and infinity stay in their row."""
    x = of_all_sizes(100, 640, dtype=dtype)
    y = launchers.rms_norm(in_columns(x), dense(x)) if kind == "rms" else launchers.fused_norm(in_columns(x), dense(x))
    eps = 1e-6 if kind == "rms" else 1e-5
    check(y, normalised(x, kind, eps), extra=rounding_of_mean(x, eps) if kind == "layer" else 0.0)


def test_rows_of_parts():
    """Columns of a wider tensor, and rows with gaps between samples."""
    wide = normal(2, 600, 100, dtype=torch.bfloat16)
    x = wide[:, 40:424, 10:90].transpose(1, 2)
    check(launchers.rms_norm(x, dense(x)), normalised(x, "rms", 1e-6))
