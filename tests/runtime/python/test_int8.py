"""Linear layers with an int8 weight: the operator against its formula, what is quantised, and the module."""

import copy

import pytest
import torch
from mindiesd import _block_ops, _library, ext
from mindiesd.utils import ParametersInvalid

DEVICES = [
    "cpu",
    pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")),
]
TYPES = (torch.float32, torch.float16, torch.bfloat16)


@pytest.fixture(autouse=True)
def without_gradients():
    with torch.no_grad():
        yield


def operands(rows, depth=64, width=24, dtype=torch.float32, device="cpu", seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(*rows, depth, generator=generator).to(device, dtype)
    weight = torch.randint(-127, 128, (width, depth), generator=generator, dtype=torch.int8).to(device)
    scales = (torch.rand(width, generator=generator) * 0.01 + 0.001).to(device)
    return x, weight, scales, torch.randn(width, generator=generator).to(device, dtype)


def formula(x, weight, scales, bias=None):
    result = x.double() @ (weight.double() * scales.double()[:, None]).T
    return result if bias is None else result + bias.double()


def close(result, wanted, units):
    """Within units in the last place of the largest."""
    unit = torch.finfo(result.dtype).eps
    return ((result.double() - wanted).abs().amax() <= units * unit * wanted.abs().amax()).item()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("rows", [(1,), (), (3, 5), (16,), (17,), (2, 40)])
def test_formula(rows, dtype, device):
    x, weight, scales, bias = operands(rows, dtype=dtype, device=device)
    for given in (bias, None):
        result = ext.int8_linear(x, weight, scales, given)
        assert result.shape == (*rows, 24) and result.dtype == dtype
        # With many rows the weight is rounded to the type, too.
        assert close(result, formula(x, weight, scales, given), 4 if dtype == torch.float32 else 2)


@pytest.mark.parametrize("device", DEVICES)
def test_layouts(device):
    x, weight, scales, bias = operands((6, 4), depth=32, device=device, dtype=torch.bfloat16)
    wide = torch.zeros(24, 48, dtype=torch.int8, device=device)
    wide[:, :32] = weight
    for operand in (x[::2, 0], x[:, 1:3], x.transpose(0, 1), x[:1].expand(3, 4, 32), x[:0]):
        result = ext.int8_linear(operand, wide[:, :32], scales, bias)
        assert result.shape == (*operand.shape[:-1], 24)
        if operand.numel():
            assert close(result, formula(operand, weight, scales, bias), 2)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_graph_captures_it_and_nothing_is_copied():
    x, weight, scales, bias = operands((4,), device="cuda", dtype=torch.float16)
    wide = torch.zeros(4, 96, device="cuda", dtype=torch.float16)
    operand = wide[:, :64]
    for call in range(3):  # the third repeats what the first handed to the library
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        result = ext.int8_linear(operand, weight, scales, bias)
        assert torch.cuda.max_memory_allocated() - before <= 512, call
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = ext.int8_linear(operand, weight, scales, bias)
    operand.copy_(x)
    graph.replay()
    assert close(result, formula(x, weight, scales, bias), 2)


def test_odd_depth():
    x, weight, scales, bias = operands((2,), depth=37)
    assert close(ext.int8_linear(x, weight, scales, bias), formula(x, weight, scales, bias), 4)


def test_float64_is_computed_in_float64():
    x, weight, scales, _ = operands((2,), dtype=torch.float64)
    assert close(ext.int8_linear(x, weight, scales), formula(x, weight, scales), 64)


def test_few_rows_are_one_call_of_the_library(monkeypatch):
    calls = []
    kernel = _library.int8_linear
    monkeypatch.setattr(
        _library, "int8_linear", lambda *arguments, **named: calls.append(1) or kernel(*arguments, **named)
    )
    x, weight, scales, bias = operands((_block_ops.MOST_INT8_ROWS,), depth=80, width=11)
    ext.int8_linear(x, weight, scales, bias)
    assert calls == [1]
    ext.int8_linear(torch.cat((x, x)), weight, scales, bias)
    assert calls == [1]


def test_gradient_of_x():
    x, weight, scales, bias = operands((3,))
    with torch.enable_grad():
        x.requires_grad_()
        ext.int8_linear(x, weight, scales, bias).sum().backward()
    assert torch.allclose(x.grad, (weight.float() * scales[:, None]).sum(0).expand(3, -1), atol=1e-5)


def test_autocast_is_that_of_a_linear_layer():
    x, weight, scales, bias = operands((3,))
    with torch.autocast("cpu", torch.bfloat16):
        assert ext.int8_linear(x, weight, scales, bias).dtype == torch.bfloat16
        assert torch.nn.functional.linear(x, weight.float()).dtype == torch.bfloat16


def test_quantised_values_lie_within_half_a_scale():
    weight = torch.randn(50, 300) * torch.logspace(-20, 10, 50)[:, None]
    weight[7] = 0.0
    quantised, scales = ext.quantize_int8(weight)
    assert quantised.dtype == torch.int8 and scales.dtype == torch.float32
    assert int(quantised.abs().amax()) == 127
    error = (quantised.double() * scales.double()[:, None] - weight.double()).abs()
    largest = weight.double().abs().amax(1, keepdim=True)
    assert (error <= largest / 254 * (1 + 1e-5)).all()
    assert not quantised[7].any() and scales.isfinite().all() and (scales > 0).all()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_weight_that_is_not_finite_is_refused(value):
    weight = torch.ones(3, 4)
    weight[1, 2] = value
    with pytest.raises(ParametersInvalid, match="must be finite"):
        ext.quantize_int8(weight)


@pytest.mark.parametrize(
    "change, text",
    [
        (dict(weight=torch.ones(24, 64)), "weight must be int8"),
        (dict(x=torch.ones(3, 63)), "64 values in its last dimension"),
        (dict(x=torch.ones(3, 64, dtype=torch.int32)), "x must be floating"),
        (dict(scales=torch.ones(23)), "scales must have shape"),
        (dict(scales=torch.ones(24, dtype=torch.float16)), "scales must be float32"),
        (dict(bias=torch.ones(1, 24)), "bias must have shape"),
        (dict(bias=torch.ones(24, dtype=torch.float16)), "bias must have the type of x"),
        (dict(weight=torch.ones(24, 64, dtype=torch.int8, device="meta")), "weight must be on the device"),
    ],
)
def test_what_is_refused(change, text):
    x, weight, scales, bias = operands((3,))
    with pytest.raises(ParametersInvalid, match=text):
        ext.int8_linear(**{**dict(x=x, weight=weight, scales=scales, bias=bias), **change})


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_module(dtype, biased):
    torch.manual_seed(3)
    linear = torch.nn.Linear(96, 40, bias=biased, dtype=dtype)
    layer = ext.Int8Linear.of(linear)
    x = torch.randn(2, 5, 96, dtype=dtype)
    wanted = linear(x).double()
    error = (layer(x).double() - wanted).norm() / wanted.norm()
    assert error < 0.01  # the rounding of 127 steps
    assert (layer.in_features, layer.out_features) == (96, 40)
    assert not list(layer.parameters())
    again = copy.deepcopy(layer)
    again.load_state_dict(layer.state_dict())
    assert torch.equal(again(x), layer(x))


def test_scales_keep_float32():
    layer = ext.Int8Linear.of(torch.nn.Linear(32, 8))
    scales = layer.scales.clone()
    half = layer.half()
    assert half.bias.dtype == torch.float16 and half.weight.dtype == torch.int8
    assert half.scales.dtype == torch.float32 and torch.equal(half.scales, scales)
    assert half(torch.randn(2, 32).half()).dtype == torch.float16


def test_module_of_something_else_is_refused():
    with pytest.raises(ParametersInvalid, match="must be a torch.nn.Linear"):
        ext.Int8Linear.of(torch.nn.Conv1d(4, 4, 1))
