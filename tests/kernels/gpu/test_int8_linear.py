"""Linear layers with an int8 weight: numbers of rows, sizes that leave a rest, strides, what is refused."""

import pytest
import torch
from gpu_support import HALVES, check, normal, poisoned

launchers = pytest.importorskip("launchers", reason="no library of launchers", exc_type=OSError)

# Less than a block of rows, a rest, and more than the blocks that run at once, divided between blocks and not.
WIDTHS = (1, 17, 1000, 4224, 4225, 6144, 12700)


def weight_of(width, depth, extra=0):
    whole = torch.randint(-128, 128, (width, depth + extra), dtype=torch.int8, device="cuda")
    return whole[:, :depth], torch.rand(width, device="cuda") * 0.01 + 1e-4


def expected(x, weight, scales, bias=None):
    """(the result in float64, the sums of magnitudes)."""
    widened = weight.double() * scales.double()[:, None]
    result, size = x.double() @ widened.T, x.double().abs() @ widened.abs().T
    return (result if bias is None else result + bias.double()), size


def run(x, weight, scales, bias=None, output=None):
    output = poisoned(x.new_empty(x.shape[0], weight.shape[0])) if output is None else output
    result = launchers.int8_linear(x, weight, scales, output, bias)
    wanted, size = expected(x, weight, scales, bias)
    check(result, wanted, extra=2e-7 * size)
    return result


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("width", WIDTHS)
def test_rows_and_sizes(dtype, width):
    for depth in (16, 48, 64, 80, 1008, 4096):
        weight, scales = weight_of(width, depth)
        for rows in (1, 2, 5, 8, 9, 16):
            run(normal(rows, depth, dtype=dtype), weight, scales, normal(width, dtype=dtype))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_strides(dtype):
    weight, scales = weight_of(200, 96, extra=32)
    for rows in (3, 12):
        x = normal(rows, 96, dtype=dtype, like="padded")
        output = poisoned(normal(rows, 211, dtype=dtype))[:, 3:203]
        run(x, weight, scales, output=output)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_every_value_of_the_weight(dtype):
    """Each of the 256 is widened exactly."""
    weight = torch.arange(-128, 128, device="cuda").to(torch.int8)[:, None].repeat(1, 16)
    x = torch.zeros(2, 16, device="cuda", dtype=dtype)
    x[0, 3], x[1, 12] = 1.0, -2.0
    scales = torch.ones(256, device="cuda")
    result = launchers.int8_linear(x, weight, scales, poisoned(x.new_empty(2, 256)))
    values = torch.arange(-128, 128, device="cuda").to(dtype)
    assert torch.equal(result, torch.stack((values, -2 * values)))


def test_the_same_from_run_to_run():
    for rows, width in ((4, 4096), (16, 4096), (16, 6144), (16, 16384)):
        weight, scales = weight_of(width, 4096)
        x = normal(rows, 4096, dtype=torch.bfloat16)
        first = run(x, weight, scales).clone()
        for _ in range(5):
            assert torch.equal(run(x, weight, scales), first)


def test_input_that_is_not_finite():
    weight, scales = weight_of(64, 128)
    x = normal(10, 128, dtype=torch.float16)
    x[2, 77] = float("nan")
    result = launchers.int8_linear(x, weight, scales, poisoned(x.new_empty(10, 64)))
    assert result[2].isnan().all() and result.isfinite().all(1).sum() == 9


def test_what_another_kernel_computes():
    weight, scales = weight_of(32, 64)
    for x in (
        normal(17, 64, dtype=torch.float16),
        normal(4, 64),
        normal(4, 64, dtype=torch.float16, like="unaligned"),
    ):
        with pytest.raises(launchers.Unsupported):
            launchers.int8_linear(x, weight, scales, x.new_empty(x.shape[0], 32))
    x, (weight, scales) = normal(4, 72, dtype=torch.float16), weight_of(32, 72)
    with pytest.raises(launchers.Unsupported):
        launchers.int8_linear(x, weight, scales, x.new_empty(4, 32))
