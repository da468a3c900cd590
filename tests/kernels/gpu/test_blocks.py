"""Residual sums and modulated norms of every form, from one row to so many that threads go through several."""

import itertools
import math

import pytest
import torch
from gpu_support import HALVES, TYPES, check, normal, normalised, of_all_sizes, poisoned, rounding_of_mean

launchers = pytest.importorskip("launchers", reason="no library of launchers", exc_type=OSError)

WIDTHS = (40, 72, 128, 136, 640, 1152, 1536, 2304, 3072, 3840, 5120, 8192, 12288)
MODULATORS = ("none", "affine", "weight", "scale", "scale and shift", "weight and scale", "all")


def many(width):
    return max(330_000 * 8 // width, 1600) + 13


def modulators(form, width, dtype):
    names = {
        "none": (), "affine": ("weight", "bias"), "weight": ("weight",), "scale": ("scale",),
        "scale and shift": ("scale", "shift"), "weight and scale": ("weight", "scale"),
        "all": ("weight", "bias", "scale", "shift"),
    }[form]  # fmt: skip
    shapes = {"weight": (width,), "bias": (width,), "scale": (2, 1, width), "shift": (2, 1, width)}
    return {name: normal(*shapes[name], dtype=dtype) for name in names}


def modulated(y, given):
    """(the result in float64, the magnitude of its terms, the factor of what is normalised)."""
    weight, bias, scale, shift = (
        None if given.get(n) is None else given[n].double() for n in ("weight", "bias", "scale", "shift")
    )
    factor = torch.ones((), device="cuda", dtype=torch.float64) if weight is None else weight
    result = y * factor
    if bias is not None:
        result = result + bias
    size = (y * factor).abs() + (0 if bias is None else bias.abs())
    if scale is not None:
        result, size, factor = result * (1 + scale), size * (1 + scale).abs(), factor * (1 + scale)
    if shift is not None:
        result, size = result + shift, size + shift.abs()
    # Where a weight and a scale become one factor, that is rounded.
    return result, 1.6 * size if weight is not None and scale is not None else size, factor.abs()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("wide", (False, True))
@pytest.mark.parametrize("form", MODULATORS)
def test_modulated_norms(width, dtype, wide, form):
    """``wide``: what rows share is float32."""
    for kind, rows in itertools.product(("layer", "rms"), (1, 40, many(width) // 2)):
        x = normal(2, rows, width, dtype=dtype, like="padded")
        given = modulators(form, width, torch.float32 if wide else dtype)
        expected, size, factor = modulated(normalised(x, kind, 1e-5), given)
        extra = rounding_of_mean(x, 1e-5) * factor if kind == "layer" else 0.0
        check(launchers.fused_norm(x, poisoned(x), kind=kind, **given), expected, size, extra)


@pytest.mark.parametrize("width", (40, 72, 640, 1536, 3072, 5120))
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("wide", (False, True))
@pytest.mark.parametrize("form", MODULATORS)
def test_blocks(width, dtype, wide, form):
    """With and without the branch's own norm, the gate and its tanh."""
    shared = torch.float32 if wide else dtype
    forms = itertools.product(("layer", "rms"), (3, many(width) // 2), (False, True), (None, False, True))
    for kind, rows, normed, tanh in forms:
        x, branch = (normal(2, rows, width, dtype=dtype) for _ in range(2))
        given = modulators(form, width, shared)
        gate = None if tanh is None else normal(2, 1, width, dtype=shared)
        weight = normal(width, dtype=shared) if normed else None
        total, result = poisoned(x), poisoned(x)
        launchers.fused_norm(
            x, result, kind=kind, branch=branch, gate=gate, sum=total, gate_tanh=bool(tanh),
            branch_norm=normed, branch_weight=weight, **given,
        )  # fmt: skip
        added = branch.double()
        if normed:
            added = normalised(branch, "rms", 1e-6) * weight.double()
        if gate is not None:
            added = added * (gate.double().tanh() if tanh else gate.double())
        expected = x.double() + added
        terms = x.double().abs() + added.abs() * (1.5 if tanh else 1)  # the tanh may be rounded
        check(total, expected, terms)
        expected, size, factor = modulated(normalised(expected, kind, 1e-5), given)
        unit = 0 if not tanh or wide else torch.finfo(dtype).eps
        extra = rounding_of_mean(terms, 1e-5) * factor + unit * added.abs().amax() * factor
        check(result, expected, size, extra)
        alone = poisoned(x)
        launchers.fused_norm(
            x, None, branch=branch, gate=gate, sum=alone, gate_tanh=bool(tanh), branch_norm=normed,
            branch_weight=weight,
        )  # fmt: skip
        check(alone, x.double() + added, terms)


@pytest.mark.parametrize("types", list(itertools.product(TYPES, repeat=3)))
@pytest.mark.parametrize("width", (129, 640))
def test_types_of_their_own(types, width):
    """Input, branch and gate; whatever the types, one launch and right."""
    x, branch = (normal(3, 50, width, dtype=t) for t in types[:2])
    gate = normal(3, 1, width, dtype=types[2])
    for target in TYPES:
        total, result = poisoned(x, target), poisoned(x, types[0])
        launchers.fused_norm(x, result, branch=branch, gate=gate, sum=total, gate_tanh=True)
        added = branch.double() * gate.double().tanh()
        expected = x.double() + added
        check(total, expected, x.double().abs() + added.abs())
        check(result, normalised(expected, "layer", 1e-5), None, 1e-5 + rounding_of_mean(expected, 1e-5))
        alone = poisoned(x, target)
        launchers.fused_norm(x, None, branch=branch, gate=gate, sum=alone, gate_tanh=True)
        check(alone, expected, x.double().abs() + added.abs())


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("like", ("unaligned", "padded", "strided", "transposed"))
@pytest.mark.parametrize("step", ("sample", "token", "value"))
def test_strides_and_broadcasts(dtype, like, step):
    width = 320
    x, branch = (normal(2, 30, width, dtype=dtype, like=like) for _ in range(2))
    shape = {"sample": (2, 1, width), "token": (2, 30, width), "value": (2, 30, 1)}[step]
    gate, scale, shift = (normal(*shape, dtype=dtype) for _ in range(3))
    weight = normal(2 * width, dtype=dtype)[::2]
    total, result = poisoned(x), poisoned(x)
    launchers.fused_norm(
        x, result, kind="rms", branch=branch, gate=gate, sum=total, branch_norm=True, scale=scale,
        shift=shift, branch_weight=weight,
    )  # fmt: skip
    added = normalised(branch, "rms", 1e-6) * weight.double() * gate.double()
    expected = x.double() + added
    check(total, expected, x.double().abs() + added.abs())
    y = normalised(expected, "rms", 1e-5) * (1 + scale.double())
    check(result, y + shift.double(), y.abs() + shift.double().abs())
    alone = poisoned(x)
    launchers.fused_norm(x, None, branch=branch, gate=gate, sum=alone)
    product = branch.double() * gate.double()
    check(alone, x.double() + product, x.double().abs() + product.abs())
    launchers.fused_norm(x, None, branch=branch, gate=gate, sum=branch)
    assert torch.equal(branch, alone)


@pytest.mark.parametrize("dtype", HALVES)
def test_more_than_31_bits(dtype, much_memory):
    """Rows beyond what a launch counts."""
    x = torch.zeros(1 << 21, 1 << 11, dtype=dtype, device="cuda")
    x[-1] = 3.0
    gate = torch.full((1, 1 << 11), 2.0, dtype=dtype, device="cuda")
    launchers.fused_norm(x, None, branch=x, gate=gate, sum=x)
    assert (x[-1] == 9.0).all() and (x[0] == 0.0).all() and (x[1 << 20] == 0.0).all()


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16))
@pytest.mark.parametrize("width", (40, 640, 3072))
def test_squares_beyond_float32(dtype, width):
    branch = of_all_sizes(33, width, dtype=dtype)
    x = torch.zeros_like(branch)
    total, result = poisoned(x), poisoned(x)
    launchers.fused_norm(x, result, kind="rms", branch=branch, sum=total, branch_norm=True)
    expected = normalised(branch, "rms", 1e-6)
    check(total, expected)
    check(result, normalised(expected, "rms", 1e-5))


def test_tanh_everywhere():
    """From the smallest number to infinity, NaN among them."""
    gate = torch.linspace(-12, 12, 4000, device="cuda")
    gate = torch.cat((gate, torch.logspace(-30, 0, 93, device="cuda"), gate.new_tensor([math.inf, -math.inf, math.nan])))
    for dtype in TYPES:
        own = gate.to(dtype)
        one = torch.ones_like(own)
        found = launchers.fused_norm(one * 0, None, branch=one, gate=own, sum=(total := poisoned(own)), gate_tanh=True)
        assert found is None
        check(total, own.double().tanh())
