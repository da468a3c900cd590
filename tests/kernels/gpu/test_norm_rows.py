"""Norms of so many rows that threads go through several of them (kernels/cuda/norm_rows.cuh)."""

import math

import pytest
import torch
from gpu_support import HALVES, check, normal, normalised, of_all_sizes, poisoned, rounding_of_mean

launchers = pytest.importorskip("launchers", reason="no library of launchers", exc_type=OSError)

# Every choice of kernels/cuda/norm.cu, full rows and ragged ones, and widths that it leaves to the others.
WIDTHS = (
    40, 64, 72, 80, 96, 104, 128, 136, 160, 256, 392, 512, 712, 768, 904, 1024, 1152, 1280, 1536, 2048,
    3072, 4096, 5120, 8192,
)  # fmt: skip


def rows_for(width):
    """Enough for that kernel, and no multiple of what a block takes."""
    return max(330_000 * 8 // width, 1600) + 13


def moved(rows, width, dtype):
    """Rows whose means lie on both sides of where the variance is computed another way."""
    means = torch.tensor([0.0, 3.0, -9.0, 30.0, 200.0, 0.0, 1.0], device="cuda")
    return (torch.randn(rows, width, device="cuda") + means[torch.arange(rows) % 7, None]).to(dtype)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", HALVES)
def test_rms_norm(width, dtype):
    rows = rows_for(width)
    x = normal(rows, width, dtype=dtype, like="padded")
    weight = normal(width, dtype=dtype)
    expected = normalised(x, "rms", 1e-6)
    check(launchers.rms_norm(x, poisoned(x), weight), expected * weight.double())
    check(launchers.rms_norm(x, poisoned(x)), expected)
    rounded = launchers.rms_norm(x, poisoned(x), weight, normalized=dtype, product=torch.float32)
    step = expected.float().to(dtype)
    # The float32 norm may round the other way once in a while.
    assert (rounded != (step.float() * weight.float()).to(dtype)).float().mean() < 1e-3
    check(launchers.rms_norm(x, x), expected)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", HALVES)
def test_layer_norm(width, dtype):
    rows = rows_for(width)
    x = moved(rows, width, dtype)
    weight, bias = normal(width, dtype=dtype), normal(width, dtype=dtype)
    y, extra = normalised(x, "layer", 1e-5), rounding_of_mean(x, 1e-5)
    check(launchers.fused_norm(x, poisoned(x)), y, None, extra)
    product = y * weight.double()
    result = launchers.fused_norm(x, poisoned(x), weight=weight, bias=bias)
    check(
        result, product + bias.double(), product.abs() + bias.double().abs(),
        extra * weight.double().abs(),
    )  # fmt: skip


@pytest.mark.parametrize("width", (768, 1024, 1152, 1536, 2048, 3072, 4096, 5120))
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("times", (2, 3, 6))
def test_rows_of_several_waves(width, dtype, times):
    """Blocks that run at once, in two waves and in more have shapes of their own."""
    rows = times * rows_for(width) + 5
    x = moved(rows, width, dtype)
    weight, bias = normal(width, dtype=dtype), normal(width, dtype=dtype)
    check(
        launchers.rms_norm(x, poisoned(x), weight), normalised(x, "rms", 1e-6) * weight.double()
    )  # fmt: skip
    y = normalised(x, "layer", 1e-5) * weight.double()
    size, extra = y.abs() + bias.double().abs(), rounding_of_mean(x, 1e-5) * weight.double().abs()
    check(launchers.fused_norm(x, poisoned(x), weight=weight, bias=bias), y + bias.double(), size, extra)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", HALVES)
def test_scale_and_shift_of_each_sample(width, dtype):
    """The samples' rows are no multiple of what a block takes, and lie apart from each other."""
    rows = rows_for(width) // 2 + 1
    x = torch.stack([moved(rows + 3, width, dtype) for _ in range(3)])[:, :rows]
    for shapes in (((3, 1, width), (3, 1, width)), ((1, 1, width), (3, 1, width)), (None, (3, 1, width))):
        scale, shift = (None if s is None else normal(*s, dtype=dtype) for s in shapes)
        factor = 1.0 if scale is None else 1 + scale.double()
        y = normalised(x, "layer", 1e-5) * factor
        extra = rounding_of_mean(x, 1e-5) * (factor if scale is None else factor.abs())
        result = launchers.fused_norm(x, poisoned(x), scale=scale, shift=shift)
        check(result, y + shift.double(), y.abs() + shift.double().abs(), extra)


@pytest.mark.parametrize("width", (1536, 3072, 6144))
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("form", ("gate", "no gate", "weight"))
def test_gated_block(width, dtype, form):
    """kernels/cuda/norm_block.cuh: samples lie apart, and their rows are no multiple of a block's."""
    rows = rows_for(width) + 2000
    x = torch.stack([moved(rows + 3, width, dtype) for _ in range(2)])[:, :rows]
    branch = normal(2, rows, width, dtype=dtype)
    gate = None if form == "no gate" else normal(2, 1, width, dtype=dtype)
    first, second = (
        normal(*((width,) if form == "weight" else (2, 1, width)), dtype=dtype) for _ in range(2)
    )
    names = ("weight", "bias") if form == "weight" else ("scale", "shift")
    total, result = poisoned(x), poisoned(x)
    launchers.fused_norm(
        x, result, branch=branch, gate=gate, sum=total, **dict(zip(names, (first, second), strict=True))
    )
    product = branch.double() * (1.0 if gate is None else gate.double())
    expected_sum = x.double() + product
    check(total, expected_sum, x.double().abs() + product.abs())
    factor = first.double() + (0.0 if form == "weight" else 1.0)
    y = normalised(expected_sum, "layer", 1e-5) * factor
    extra = rounding_of_mean(expected_sum, 1e-5) * factor.abs()
    check(result, y + second.double(), y.abs() + second.double().abs(), extra)


# Beside rows of half precision: by lanes, by warps of up to 512 threads, and what is left to others.
WIDE_WIDTHS = (40, 72, 128, 256, 392, 512, 520, 1152, 1536, 2432, 3072, 5120, 6144, 8192, 8200)


def spread(x):
    """Rows that are compared where there are many: the ends and some between."""
    rows = torch.randint(0, x.shape[-2], (512,), device="cuda")
    return torch.cat((torch.arange(64, device="cuda"), rows, torch.arange(-64, 0, device="cuda")))


@pytest.mark.parametrize("width", WIDE_WIDTHS)
@pytest.mark.parametrize("dtype", HALVES)
def test_float32_beside_halves(width, dtype):
    """As models have it that keep norms and modulation in float32."""
    rows = rows_for(width)
    x = moved(2 * rows + 6, width, dtype).view(2, rows + 3, width)[:, :rows]
    weight, bias = normal(width), normal(width)
    y, extra = normalised(x, "layer", 1e-5), rounding_of_mean(x, 1e-5)
    product = y * weight.double()
    result = launchers.fused_norm(x, poisoned(x), weight=weight, bias=bias)
    size = product.abs() + bias.double().abs()
    check(result, product + bias.double(), size, extra * weight.double().abs())
    scale, shift = normal(2, 1, width), normal(2, 1, width)
    factor = 1 + scale.double()
    result = launchers.fused_norm(x, poisoned(x), scale=scale, shift=shift)
    size = (y * factor).abs() + shift.double().abs()
    check(result, y * factor + shift.double(), size, extra * factor.abs())
    x = normal(rows, width, dtype=dtype)
    expected = normalised(x, "rms", 1e-6)
    check(launchers.rms_norm(x, poisoned(x), weight), expected * weight.double())
    rounded = launchers.rms_norm(x, poisoned(x), weight, normalized=dtype, product=torch.float32)
    step = expected.float().to(dtype)
    # The float32 norm may round the other way once in a while.
    assert (rounded != (step.float() * weight).to(dtype)).float().mean() < 1e-3


def check_block(x, form):
    """The gated block with float32 for gate and modulators or weights, on the rows of `spread`."""
    width, at = x.shape[-1], spread(x)
    branch = torch.randn_like(x)
    gate = None if form == "no gate" else normal(x.shape[0], 1, width)
    own = (width,) if form == "weight" else (x.shape[0], 1, width)
    first, second = normal(*own), normal(*own)
    names = ("weight", "bias") if form == "weight" else ("scale", "shift")
    total, result = poisoned(x), poisoned(x)
    launchers.fused_norm(
        x, result, branch=branch, gate=gate, sum=total, **dict(zip(names, (first, second), strict=True))
    )
    assert (total != 123).any(-1).all() and (result != 123).any(-1).all()
    product = branch[:, at].double() * (1.0 if gate is None else gate.double())
    expected_sum = x[:, at].double() + product
    check(total[:, at], expected_sum, x[:, at].double().abs() + product.abs())
    factor = first.double() + (0.0 if form == "weight" else 1.0)
    y = normalised(expected_sum, "layer", 1e-5) * factor
    extra = rounding_of_mean(expected_sum, 1e-5) * factor.abs()
    check(result[:, at], y + second.double(), y.abs() + second.double().abs(), extra)


@pytest.mark.parametrize("width", WIDE_WIDTHS)
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("form", ("gate", "no gate", "weight"))
def test_gated_block_with_float32(width, dtype, form):
    rows = rows_for(width) + 500
    check_block(moved(2 * rows + 6, width, dtype).view(2, rows + 3, width)[:, :rows], form)


@pytest.mark.parametrize("rows", (301, 701, 1001))
@pytest.mark.parametrize("width", (1536, 3072, 5120, 6144))
def test_gated_block_of_few_rows_with_float32(width, rows):
    """Where they are few, more widths have their modulators in shared memory."""
    check_block(moved(rows, width, torch.bfloat16)[None], "gate")


@pytest.mark.parametrize("width", (1024, 1536, 3072, 4096, 5120, 6144, 8192, 10248, 12288, 13824, 16384))
@pytest.mark.parametrize("dtype", HALVES)
def test_many_rows_with_float32(width, dtype):
    """So many that norm_kernel takes them."""
    rows = 129_000_000 // width
    x = moved(rows, width, dtype)
    at, weight = spread(x), normal(width)
    scale, shift = normal(width), normal(width)
    result = launchers.fused_norm(x, poisoned(x), scale=scale, shift=shift)
    assert (result != 123).any(-1).all()
    y = normalised(x[at], "layer", 1e-5) * (1 + scale.double())
    size = y.abs() + shift.double().abs()
    extra = rounding_of_mean(x[at], 1e-5) * (1 + scale.double()).abs()
    check(result[at], y + shift.double(), size, extra)
    result = launchers.rms_norm(x, poisoned(x), weight)
    assert (result != 123).any(-1).all()
    expected = normalised(x[at], "rms", 1e-6)
    check(result[at], expected * weight.double())
    rounded = launchers.rms_norm(x, poisoned(x), weight, normalized=dtype, product=torch.float32)
    step = expected.float().to(dtype)
    # The float32 norm may round the other way once in a while.
    assert (rounded[at] != (step.float() * weight).to(dtype)).float().mean() < 1e-3
    for form in ("gate", "no gate", "weight"):
        check_block(x[None, : 34_000_000 // width], form)


@pytest.mark.parametrize("width", (1024, 3072, 5120, 8192, 16384))
@pytest.mark.parametrize("dtype", HALVES)
def test_many_rows_with_float32_of_each_token(width, dtype):
    """No kernel keeps such modulators for the rows to come."""
    x = moved(129_000_000 // width, width, dtype)
    at, scale, shift = spread(x), normal(*x.shape), normal(*x.shape)
    result = launchers.fused_norm(x, poisoned(x), scale=scale, shift=shift)
    assert (result != 123).any(-1).all()
    factor = 1 + scale[at].double()
    y = normalised(x[at], "layer", 1e-5) * factor
    extra = rounding_of_mean(x[at], 1e-5) * factor.abs()
    check(result[at], y + shift[at].double(), y.abs() + shift[at].double().abs(), extra)


@pytest.mark.parametrize("width", (10240, 12288, 13824, 16384))
@pytest.mark.parametrize("rows", (31, 2111))
@pytest.mark.parametrize("dtype", HALVES)
def test_long_rows(width, rows, dtype):
    """A thread holds four or eight packed vectors of them."""
    x, weight, bias = (normal(*shape, dtype=dtype) for shape in ((rows, width), (width,), (width,)))
    check(launchers.rms_norm(x, poisoned(x), weight), normalised(x, "rms", 1e-6) * weight.double())
    y = normalised(x, "layer", 1e-5) * weight.double()
    size, extra = y.abs() + bias.double().abs(), rounding_of_mean(x, 1e-5) * weight.double().abs()
    check(launchers.fused_norm(x, poisoned(x), weight=weight, bias=bias), y + bias.double(), size, extra)


# Every kernel of norm.cu: by lanes, by warps, several rows in a warp, whole blocks, and with 100 what
# vectors do not fit.
@pytest.mark.parametrize("width", (
    8, 64, 72, 96, 100, 128, 160, 256, 512, 768, 1024, 1152, 1280, 1536, 3072, 4096, 5120, 8192, 16384,
))  # fmt: skip
@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16))
@pytest.mark.parametrize("many", (False, True))
def test_squares_beyond_float32(width, dtype, many):
    """A row is normalised whatever its size is, and whatever its neighbours are."""
    x = of_all_sizes(rows_for(width) if many else 67, width, dtype=dtype)
    wide = normal(width)
    expected = normalised(x, "rms", 1e-6)
    check(launchers.rms_norm(x, poisoned(x)), expected)
    check(launchers.rms_norm(x, poisoned(x), wide), expected * wide.double())
    y, extra = normalised(x, "layer", 1e-5), rounding_of_mean(x, 1e-5)
    check(launchers.fused_norm(x, poisoned(x)), y, None, extra)
    for scale, shift in ((wide.to(dtype), normal(width, dtype=dtype)), (wide, normal(width))):
        product = y * (1 + scale.double())
        size = (product.abs() + shift.double().abs()).nan_to_num()
        result = launchers.fused_norm(x, poisoned(x), scale=scale, shift=shift)
        check(result, product + shift.double(), size, extra * (1 + scale.double()).abs())
    # In the block it is the branch, gated or not.
    few, branch = torch.randn_like(x), x.roll(5, 0)
    for gate in (wide.clamp(-2, 2).to(dtype), wide.clamp(-2, 2), None):
        total, result = poisoned(x), poisoned(x)
        scale = wide if gate is None else wide.to(gate.dtype)
        launchers.fused_norm(few, result, branch=branch, gate=gate, sum=total, scale=scale)
        product = branch.double() * (1.0 if gate is None else gate.double())
        expected_sum, factor = few.double() + product, 1 + scale.double()
        check(total, expected_sum, (few.double().abs() + product.abs()).nan_to_num())
        extra = rounding_of_mean(expected_sum, 1e-5) * factor.abs()
        check(result, normalised(expected_sum, "layer", 1e-5) * factor, None, extra)


@pytest.mark.parametrize("width", (64, 72, 96, 512, 1152, 3072))
def test_nan_and_infinity_stay_in_their_row(width):
    x = normal(rows_for(width), width, dtype=torch.bfloat16)
    x[0, 5], x[1, 7], x[77, width - 1] = math.nan, math.inf, -math.inf
    check(launchers.rms_norm(x, poisoned(x)), normalised(x, "rms", 1e-6))
    result = launchers.fused_norm(x, poisoned(x))
    check(result, normalised(x, "layer", 1e-5), None, rounding_of_mean(x, 1e-5))
