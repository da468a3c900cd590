"""The CUDA launchers against the formulas in float64, over types, widths, strides and alignments."""

import math

import pytest
import torch
import torch.nn.functional as F
from gpu_support import (
    FORMS, HALVES, TYPES, check, normal, normalised, of_all_sizes, poisoned, rotated, rounding_of_mean,
    tables,
)  # fmt: skip

launchers = pytest.importorskip("launchers", reason="no library of launchers", exc_type=OSError)

# Powers of two, heads of real models, widths that no vector divides, and rows beyond every register.
WIDTHS = (
    1, 2, 3, 7, 8, 24, 40, 64, 72, 80, 96, 100, 128, 130, 160, 256, 264, 512, 768, 1000, 1024, 1152,
    1536, 2048, 2304, 3072, 4096, 5120, 6144, 8192, 9999, 13824, 16384, 24576, 32768, 40000, 65536,
    131080,
)  # fmt: skip


# --- norms -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", TYPES)
def test_rms_norm(width, dtype):
    for rows, like, weight_type in (
        (1, None, dtype), (5, "unaligned", torch.float32), (33, "padded", None),
        (3, "strided", dtype),
    ):  # fmt: skip
        x = normal(rows, width, dtype=dtype, like=like)
        weight = None if weight_type is None else normal(width, dtype=weight_type)
        result = launchers.rms_norm(x, poisoned(x), weight)
        expected = normalised(x, "rms", 1e-6)
        check(result, expected if weight is None else expected * weight.double())


@pytest.mark.parametrize("width", (64, 128, 72, 256, 1152))
@pytest.mark.parametrize("dtype", TYPES)
def test_rms_norm_of_many_rows(width, dtype):
    x = normal(40001, width, dtype=dtype)
    weight = normal(width)
    check(
        launchers.rms_norm(x, poisoned(x), weight), normalised(x, "rms", 1e-6) * weight.double()
    )


@pytest.mark.parametrize("dtype", HALVES)
def test_rms_norm_rounds_between_its_steps(dtype):
    x = normal(64, 1024, dtype=dtype)
    weight, bias = normal(1024, dtype=dtype), normal(1024, dtype=dtype)
    result = launchers.rms_norm(
        x, poisoned(x), weight, bias=bias, normalized=dtype, product=dtype
    )
    step = normalised(x, "rms", 1e-6).float().to(dtype)
    expected = (step * weight) + bias
    # The float32 norm may round the other way once in a while.
    assert (result != expected).float().mean() < 1e-3


def test_rms_norm_of_heads_in_a_packed_tensor():
    packed = normal(2, 129, 3, 24, 128, dtype=torch.bfloat16)
    weight = normal(128, dtype=torch.bfloat16)
    for i in range(3):
        x = packed[:, :, i]
        result = launchers.rms_norm(x, torch.empty(x.shape, dtype=x.dtype, device="cuda"), weight)
        check(result, normalised(x, "rms", 1e-6) * weight.double())


def test_norm_in_place():
    x = normal(77, 3072, dtype=torch.bfloat16)
    expected = normalised(x, "rms", 1e-6)
    check(launchers.rms_norm(x, x), expected)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", TYPES)
def test_layer_norm_with_scale_and_shift(width, dtype):
    for rows, like, modulation in (
        (3, None, "sample"), (7, "unaligned", "row"), (130, "padded", "number"), (9, None, "none"),
    ):  # fmt: skip
        x = normal(2, rows, width, dtype=dtype, like=like) + 3.0
        shapes = {"sample": (2, 1, width), "row": (2, rows, width), "number": (1, 1, 1)}
        scale, shift = (
            (None, None) if modulation == "none"
            else (normal(*shapes[modulation], dtype=dtype), normal(*shapes[modulation]))
        )  # fmt: skip
        weight, bias = (normal(width), normal(width, dtype=dtype)) if rows != 7 else (None, None)
        result = launchers.fused_norm(
            x, poisoned(x), weight=weight, bias=bias, scale=scale, shift=shift, eps=1e-5
        )
        expected = normalised(x, "layer", 1e-5)
        size = expected.abs()
        if weight is not None:
            expected, size = expected * weight.double(), size * weight.double().abs()
            expected, size = expected + bias.double(), size + bias.double().abs()
        if scale is not None:
            expected, size = expected * (1 + scale.double()), size * (1 + scale.double()).abs()
            expected, size = expected + shift.double(), size + shift.double().abs()
        extra = rounding_of_mean(x, 1e-5)
        if weight is not None:
            extra = extra * weight.double().abs()
        if scale is not None:
            extra = extra * (1 + scale.double()).abs()
        check(result, expected, size, extra)


def test_layer_norm_of_a_constant_far_from_zero():
    """The variance is that of deviations: no cancellation of large sums."""
    x = 1e4 + normal(16, 4096)
    result = launchers.fused_norm(x, poisoned(x))
    check(result, normalised(x, "layer", 1e-5), None, rounding_of_mean(x, 1e-5))


@pytest.mark.parametrize("width", (16, 64, 128, 1152, 3072, 5120, 16384))
@pytest.mark.parametrize("dtype", TYPES)
def test_layer_norm_at_any_mean(width, dtype):
    """Neighbouring rows on both sides of where the variance is computed another way, and constants."""
    means = torch.tensor([0.0, 3.0, 7.0, -9.0, 30.0, 200.0, -1000.0], device="cuda").repeat(5)
    x = (torch.randn(35, width, device="cuda") + means[:, None]).to(dtype)
    x[::9] = 5.0
    x[8] = 0.0
    weight, bias = normal(width, dtype=dtype), normal(width, dtype=dtype)
    y = normalised(x, "layer", 1e-5)
    expected = y * weight.double() + bias.double()
    size = (y * weight.double()).abs() + bias.double().abs()
    extra = rounding_of_mean(x, 1e-5) * weight.double().abs()
    check(launchers.fused_norm(x, poisoned(x), weight=weight, bias=bias), expected, size, extra)
    total, result = poisoned(x), poisoned(x)
    launchers.fused_norm(x, result, branch=torch.zeros_like(x), sum=total, weight=weight, bias=bias)
    check(total, x.double())
    check(result, expected, size, extra)


@pytest.mark.parametrize("width", (1, 40, 128, 1152, 3072, 5120, 8192, 16384, 32768, 70000))
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", ("layer", "rms"))
def test_residual_norm(width, dtype, kind):
    for rows, gate_shape, like in (
        (5, (2, 1, width), None), (3, (2, 3, width), "unaligned"), (130, (2, 1, 1), None),
        (4, None, "padded"),
    ):  # fmt: skip
        x, branch = (normal(2, rows, width, dtype=dtype, like=like) for _ in range(2))
        gate = None if gate_shape is None else normal(*gate_shape, dtype=dtype)
        scale, shift = normal(2, 1, width, dtype=dtype), normal(2, 1, width)
        total = poisoned(x)
        result = launchers.fused_norm(
            x, poisoned(x), kind=kind, branch=branch, gate=gate, sum=total, scale=scale,
            shift=shift, eps=1e-5,
        )  # fmt: skip
        product = branch.double() * (1.0 if gate is None else gate.double())
        expected_sum = x.double() + product
        check(total, expected_sum, x.double().abs() + product.abs())
        y = normalised(expected_sum, kind, 1e-5)
        expected = y * (1 + scale.double()) + shift.double()
        size = y.abs() * (1 + scale.double()).abs() + shift.double().abs()
        extra = rounding_of_mean(expected_sum, 1e-5) * (1 + scale.double()).abs()
        check(result, expected, size, extra)


def test_residual_norm_in_place_and_in_other_types():
    x, branch = (normal(33, 3072, dtype=torch.bfloat16) for _ in range(2))
    expected_sum = x.double() + branch.double()
    result = torch.empty(33, 3072, device="cuda")
    launchers.fused_norm(x, result, branch=branch, sum=x, eps=1e-6)
    check(x, expected_sum)
    check(result, normalised(expected_sum, "layer", 1e-6), torch.ones((), device="cuda"))
    total = torch.empty(33, 3072, device="cuda")
    y = normal(33, 3072, dtype=torch.bfloat16)
    expected_sum = y.double() + branch.double()
    launchers.fused_norm(y, branch, kind="rms", branch=branch, sum=total, eps=1e-6)
    check(total, expected_sum)
    check(branch, normalised(expected_sum, "rms", 1e-6))


@pytest.mark.parametrize("rows", (1, 40000))
def test_norm_keeps_nan_and_infinity_in_their_row(rows):
    x = normal(rows + 2, 128, dtype=torch.bfloat16)
    x[0, 5], x[1, 7] = math.nan, math.inf
    check(launchers.rms_norm(x, poisoned(x)), normalised(x, "rms", 1e-6))
    result = launchers.fused_norm(x, poisoned(x))
    check(result, normalised(x, "layer", 1e-5), None, rounding_of_mean(x, 1e-5))


def test_empty_tensors():
    for shape in ((0, 128), (3, 0), (2, 0, 64)):
        x = torch.empty(shape, device="cuda", dtype=torch.bfloat16)
        launchers.rms_norm(x, x)
        launchers.fused_norm(x, x)
        launchers.softmax(x, x)
        launchers.activation(x, x, "gelu")
        if x.shape[-1]:
            table = torch.empty(64, device="cuda")
            launchers.rotary((x,), (x,), table[: x.shape[-1]], table[: x.shape[-1]])
    torch.cuda.synchronize()


# --- rotary ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("form,interleaved", FORMS)
@pytest.mark.parametrize("width", (2, 6, 16, 40, 64, 72, 80, 96, 128, 160, 256, 512, 1024))
@pytest.mark.parametrize("dtype", TYPES)
def test_rotary(form, interleaved, width, dtype):
    for lead, like, table_type in (
        ((33, 1), None, torch.float32),  # [S, 1, D]: heads share
        ((2, 33, 1), "padded", dtype),  # per sample
        ((33, 5), None, torch.float32),  # per head
        ((1, 1), "unaligned", torch.float32),
        ((33, 1), "transposed", torch.float32),
    ):
        x = normal(2, 33, 5, width, dtype=dtype, like=like)
        table, matrix = tables(form, lead, width, table_type)
        (result,) = launchers.rotary((x,), (poisoned(x),), *table, interleaved=interleaved)
        check(result, *rotated(x, matrix, interleaved))


@pytest.mark.parametrize("form", ("full-halves", "half-width"))
@pytest.mark.parametrize("width", (8, 24, 40, 56, 72, 88, 104, 120, 184, 248, 264))
@pytest.mark.parametrize("dtype", HALVES)
def test_rotation_of_halves_that_end_inside_a_vector(form, width, dtype):
    for heads, lengths, like in (((16, 16), (37, 37), None), ((5, 3), (300, 7), "padded")):
        for table_type in (torch.float32, dtype):
            q, k = (
                normal(2, length, n, width, dtype=dtype, like=like)
                for n, length in zip(heads, lengths, strict=True)
            )
            for part in ((q, k), (k,)) if lengths[0] == lengths[1] else ((q,), (k,)):
                table, matrix = tables(form, (part[0].shape[1], 1), width, table_type)
                expected = [rotated(x, matrix, False) for x in part]
                apart = launchers.rotary(part, [poisoned(x) for x in part], *table)
                wide = launchers.rotary(part, [poisoned(x, torch.float32) for x in part], *table)
                within = launchers.rotary(part, part, *table)
                for results in (apart, wide, within):
                    for result, want in zip(results, expected, strict=True):
                        check(result, *want)


@pytest.mark.parametrize("form,interleaved", FORMS)
def test_rotary_of_query_and_key_in_one_launch(form, interleaved):
    for heads, lengths in (((24, 24), (129, 129)), ((32, 8), (65, 65)), ((4, 4), (40, 0))):
        q, k = (
            normal(2, length, n, 128, dtype=torch.bfloat16)
            for n, length in zip(heads, lengths, strict=True)
        )
        table, matrix = tables(form, (1, 1) if lengths[1] == 0 else (lengths[0], 1), 128, torch.float32)
        expected = [rotated(t, matrix, interleaved) for t in (q, k) if t.numel()]
        results = launchers.rotary((q, k), (q, k), *table, interleaved=interleaved)  # in place
        for result, want in zip((r for r in results if r.numel()), expected, strict=True):
            check(result, *want)


@pytest.mark.parametrize("form,interleaved", FORMS)
@pytest.mark.parametrize("width", (16, 40, 64, 72, 80, 96, 128, 160, 256, 1024))
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("span", ("row", "heads"))
def test_norm_then_rotary(form, interleaved, width, dtype, span):
    for heads, like, table_lead in (
        ((6, 2), None, (17, 1)), ((1, 1), None, (17, 1)), ((3, 3), "unaligned", (17, 1)),
        ((5, 5), "padded", (2, 17, 5)),
    ):  # fmt: skip
        q, k = (normal(2, 17, n, width, dtype=dtype, like=like) for n in heads)
        table, matrix = tables(form, table_lead, width, torch.float32)
        weights = [normal(n * width if span == "heads" else width, dtype=dtype) for n in heads]
        results = launchers.rotary(
            (q, k), (poisoned(q), poisoned(k)), *table, interleaved=interleaved, norm=span,
            weights=weights,
        )  # fmt: skip
        for x, result, weight in zip((q, k), results, weights, strict=True):
            if span == "heads":
                y = normalised(x.flatten(2), "rms", 1e-6) * weight.double()
                y = y.view(x.shape)
            else:
                y = normalised(x, "rms", 1e-6) * weight.double()
            check(result, *rotated(y, matrix, interleaved))


@pytest.mark.parametrize("form,interleaved", FORMS)
@pytest.mark.parametrize("heads", ((32, 8), (28, 4), (40, 8), (24, 2), (7, 3), (2, 16)))
def test_norm_then_rotary_of_fewer_heads_of_key(form, interleaved, heads):
    """A part of each block is query and a part key, where that leaves few threads idle."""
    for width in (64, 128):
        q, k = (normal(2, 37, n, width, dtype=torch.bfloat16) for n in heads)
        table, matrix = tables(form, (37, 1), width, torch.float32)
        weights = [normal(width, dtype=torch.bfloat16) for _ in heads]
        results = launchers.rotary(
            (q, k), (poisoned(q), poisoned(k)), *table, interleaved=interleaved, norm="row",
            weights=weights,
        )  # fmt: skip
        for x, result, weight in zip((q, k), results, weights, strict=True):
            y = normalised(x, "rms", 1e-6) * weight.double()
            check(result, *rotated(y, matrix, interleaved))


@pytest.mark.parametrize("form,interleaved", FORMS)
@pytest.mark.parametrize("width", (16, 64, 72, 80, 102, 128, 256, 1024))
@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16))
@pytest.mark.parametrize("span", ("row", "heads"))
def test_squares_beyond_float32_then_rotary(form, interleaved, width, dtype, span):
    x = of_all_sizes(2, 37, 6, width, dtype=dtype).nan_to_num(0.0, 0.0, 0.0)
    table, matrix = tables(form, (37, 1), width, torch.float32)
    weight = normal(6 * width if span == "heads" else width, dtype=dtype)
    (result,) = launchers.rotary(
        (x,), (poisoned(x),), *table, interleaved=interleaved, norm=span, weights=(weight,)
    )
    rows = x.flatten(2) if span == "heads" else x
    y = (normalised(rows, "rms", 1e-6) * weight.double()).view(x.shape)
    check(result, *rotated(y, matrix, interleaved))


@pytest.mark.parametrize("heads,width", ((24, 128), (40, 128), (12, 64), (16, 1024)))
def test_norm_over_heads_then_rotary_as_wan(heads, width):
    x = normal(1, 300, heads, width, dtype=torch.bfloat16)
    table, matrix = tables("complex", (300, 1), width, torch.float32)
    weight = normal(heads * width)
    (result,) = launchers.rotary((x,), (x.clone(),), *table, norm="heads", weights=(weight,))
    y = (normalised(x.flatten(2), "rms", 1e-6) * weight.double()).view(x.shape)
    check(result, *rotated(y, matrix, True))


# --- softmax ---------------------------------------------------------------------------------------


def softmax_of(x, scale, bias, mask, mask_value, subtract, low, high):
    s = x.double() * scale
    if bias is not None:
        s = s + bias.double()
    if subtract == "row":
        s = s - s.amax(-1, keepdim=True)
    elif subtract == "global":
        s = s - s.amax()
    if low is not None:
        s = s.clamp(min=low)
    if high is not None:
        s = s.clamp(max=high)
    if mask is not None:
        s = s.masked_fill(~mask, mask_value) if mask.dtype == torch.bool else s + mask.double()
    return s.softmax(-1)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", TYPES)
def test_softmax(width, dtype):
    for rows, like, guards in (
        (3, None, {}),
        (2, "unaligned", {"subtract": "row", "clamp_min": -2.0, "clamp_max": -0.25}),
        (3, None, {"scale": 0.5, "bias": "row", "mask": "bool", "mask_value": -3.0}),
        (2, "padded", {"subtract": "global", "clamp_min": -1.0, "mask": "float"}),
        (1, "strided", {"mask": "bool", "subtract": "row"}),
        (3, None, {"mask": "column", "bias": "number"}),
    ):
        x = normal(2, rows, width, dtype=dtype, like=like) * 3
        guards = dict(guards)
        if guards.get("bias") == "row":
            guards["bias"] = normal(1, rows, width, dtype=dtype)
        elif guards.get("bias") == "number":
            guards["bias"] = normal(2, rows, 1)
        if guards.get("mask") == "bool":
            guards["mask"] = torch.rand(1, rows, width, device="cuda") < 0.7
            guards["mask"][..., 0] = True
        elif guards.get("mask") == "column":
            guards["mask"] = torch.ones(2, 1, 1, dtype=torch.bool, device="cuda")
        elif guards.get("mask") == "float":
            guards["mask"] = normal(2, 1, width, dtype=dtype)
        result = launchers.softmax(x, poisoned(x), **guards)
        expected = softmax_of(
            x, guards.get("scale", 1.0), guards.get("bias"), guards.get("mask"),
            guards.get("mask_value", -math.inf), guards.get("subtract"), guards.get("clamp_min"),
            guards.get("clamp_max"),
        )  # fmt: skip
        check(result, expected)


@pytest.mark.parametrize("width", (64, 128, 256))
def test_softmax_of_many_rows(width):
    x = normal(40001, width, dtype=torch.float16)
    check(launchers.softmax(x, poisoned(x)), x.double().softmax(-1))
    mask = torch.rand(40001, width, device="cuda") < 0.9
    check(
        launchers.softmax(x, poisoned(x), mask=mask, mask_value=-4.0, clamp_max=1.0),
        softmax_of(x, 1.0, None, mask, -4.0, None, None, 1.0),
    )


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("lead,mask_lead,width", (
    ((2, 8, 600), (2, 1, 600), 4096),  # heads share a mask row: two rows take turns
    ((2, 7, 600), (2, 1, 600), 4096),  # a number of heads that turns do not divide
    ((3, 4, 64), (3, 1, 1), 1024),  # keys of a sample
    ((3, 4, 61), (3, 1, 1), 512),
    ((2, 4, 100), (1, 1, 100), 256),
))  # fmt: skip
def test_softmax_of_rows_that_share_a_boolean_mask(dtype, lead, mask_lead, width):
    x = normal(*lead, width, dtype=dtype) * 3
    mask = torch.rand(*mask_lead, width, device="cuda") < 0.7
    guards = {"scale": 0.125, "mask_value": -10000.0}
    result = launchers.softmax(x, poisoned(x), mask=mask, **guards)
    check(result, softmax_of(x, 0.125, None, mask, -10000.0, None, None, None))
    # Any byte but 0 keeps a score.
    mask = (mask.view(torch.uint8) * torch.randint_like(mask, 1, 256, dtype=torch.uint8)).view(torch.bool)
    again = launchers.softmax(x, poisoned(x), mask=mask, **guards)
    assert torch.equal(again, result)


@pytest.mark.parametrize("width", (8, 100, 4096))
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("subtract", (None, "row", "global"))
def test_softmax_of_infinities_and_nan(width, dtype, subtract):
    x = normal(6, width, dtype=dtype)
    x[0] = -math.inf  # NaN, as the formula
    x[1, : width // 2] = -math.inf
    mask = torch.ones(6, width, dtype=torch.bool, device="cuda")
    mask[2] = False
    result = launchers.softmax(x, poisoned(x), mask=mask, subtract=subtract)
    check(result, softmax_of(x, 1.0, None, mask, -math.inf, subtract, None, None))
    x[3, 1] = math.nan
    x[4, 1] = math.inf
    if subtract == "global":
        return
    result = launchers.softmax(x, poisoned(x), subtract=subtract, clamp_min=-5.0)
    check(result, softmax_of(x, 1.0, None, None, 0.0, subtract, -5.0, None))


# --- activations -----------------------------------------------------------------------------------


def activated(x, kind):
    x = x.double()
    return {
        "gelu": lambda: F.gelu(x),
        "gelu-tanh": lambda: F.gelu(x, approximate="tanh"),
        "gelu-fast": lambda: x * torch.sigmoid(1.702 * x),
        "silu": lambda: F.silu(x),
        "mish": lambda: F.mish(x),
        "relu": lambda: F.relu(x),
    }[kind]()


@pytest.mark.parametrize("kind", launchers.ACTIVATIONS)
@pytest.mark.parametrize("dtype", TYPES)
def test_activation(kind, dtype):
    for shape, like in (
        ((1,), None), ((13,), None), ((1000, 512), None), ((33, 72), "padded"),
        ((64, 128), "unaligned"), ((9, 50), "strided"),
    ):  # fmt: skip
        x = normal(*shape, dtype=dtype, like=like) * 4
        # 1 + erf and 1 + tanh cancel for negative values: a unit is relative to the argument.
        check(launchers.activation(x, poisoned(x), kind), activated(x, kind), x.double().abs())
        gate = normal(*shape, dtype=dtype) * 4
        result = launchers.activation(x, poisoned(x), kind, gate)
        size = (x.double() * gate.double()).abs()
        check(result, x.double() * activated(gate, kind), size)


@pytest.mark.parametrize("dtype", HALVES)
def test_exact_gelu_of_a_large_tensor(dtype):
    """Two vectors a thread, and no even number of them."""
    for like in (None, "padded"):
        x = normal(8209, 8200, dtype=dtype, like=like) * 4
        check(launchers.activation(x, poisoned(x), "gelu"), activated(x, "gelu"), x.double().abs())


@pytest.mark.parametrize("kind", launchers.ACTIVATIONS)
def test_activation_of_every_half(kind):
    x = torch.arange(65536, device="cuda").to(torch.uint16).view(torch.float16)
    x = x[x.abs() < 20].contiguous()
    expected = activated(x, kind)
    error = (launchers.activation(x, poisoned(x), kind).double() - expected).abs()
    assert (error <= 2**-10 * expected.abs() + 4e-7 * x.double().abs() + 2**-24).all()


@pytest.mark.parametrize("kind", launchers.ACTIVATIONS)
@pytest.mark.parametrize("dtype", TYPES)
def test_activation_of_infinities_and_nan(kind, dtype):
    x = torch.tensor([math.inf, -math.inf, math.nan, 200.0, -200.0, 0.0, 1e4, -1e4], device="cuda")
    x = x.to(dtype)
    size = x.double().abs().nan_to_num(0.0, 0.0)
    check(launchers.activation(x, poisoned(x), kind), activated(x, kind), size)


def test_gated_halves_in_either_order():
    packed = normal(2, 300, 2 * 1280, dtype=torch.bfloat16)
    first, second = packed.chunk(2, dim=-1)
    result = torch.empty(2, 300, 1280, dtype=torch.bfloat16, device="cuda")
    for value, gate in ((first, second), (second, first)):
        launchers.activation(value, result, "gelu", gate)
        check(result, value.double() * activated(gate, "gelu"))


# --- more than 2^31 ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("much_memory")
def test_more_than_two_to_the_31_elements():
    rows = 2**24 + 3
    x = torch.empty(rows, 128, dtype=torch.bfloat16, device="cuda").normal_()
    out = poisoned(x)
    ends = torch.cat((torch.arange(64), torch.arange(rows - 64, rows))).cuda()
    launchers.rms_norm(x, out)
    check(out[ends], normalised(x[ends], "rms", 1e-6))
    launchers.softmax(x, out)
    check(out[ends], x[ends].double().softmax(-1))
    table, matrix = tables("half-width", (1,), 128, torch.float32)
    launchers.rotary((x,), (out,), *table)
    check(out[ends], *rotated(x[ends], matrix, False))
    out.fill_(123.0)
    launchers.activation(x, out, "silu")
    check(out[ends], activated(x[ends], "silu"))
    flat = x.view(-1)
    launchers.activation(flat, out.view(-1), "gelu")
    check(out[ends], activated(x[ends], "gelu"))


@pytest.mark.usefixtures("much_memory")
def test_more_rows_than_31_bits_count():
    rows = 2**31 + 5
    x = torch.empty(rows, 2, dtype=torch.bfloat16, device="cuda").normal_()
    out = poisoned(x)
    ends = torch.cat((torch.arange(64), torch.arange(rows - 64, rows))).cuda()
    launchers.rms_norm(x, out)
    check(out[ends], normalised(x[ends], "rms", 1e-6))
