"""Activations and gated products against the torch code that they replace."""

import itertools
import math

import mindiesd
import pytest
import torch
import torch.nn.functional as F
from accuracy import FLOATS, assert_accurate
from mindiesd import ext
from mindiesd.ext import activation
from mindiesd.utils import ParametersInvalid


def fast(x):
    return x * torch.sigmoid(1.702 * x)


PLAIN = {
    "gelu": (F.gelu, lambda x: ext.gelu(x)),
    "gelu-tanh": (lambda x: F.gelu(x, approximate="tanh"), lambda x: ext.gelu(x, "tanh")),
    "gelu-fast": (fast, lambda x: ext.gelu(x, approximate="fast")),
    "silu": (F.silu, ext.silu),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", PLAIN)
def test_as_accurate_as_torchs(backend, name, dtype):
    original, ours = PLAIN[name]
    x = (torch.randn(300, 1001) * 4).to(dtype)
    assert_accurate(ours(x), original(x), original(x.double()))


@pytest.mark.parametrize("dtypes", list(itertools.product(FLOATS, repeat=2)))
@pytest.mark.parametrize("name", PLAIN)
def test_gated_products(backend, name, dtypes):
    original = PLAIN[name][0]
    x, gate = (torch.randn(300, 257).to(t) for t in dtypes)
    exact = x.double() * original(gate.double())
    assert_accurate(ext.gated(x, gate, name), x * original(gate), exact)


@pytest.mark.parametrize("gate", ["first", "second"])
@pytest.mark.parametrize("dim", [-1, 1, 0])
@pytest.mark.parametrize("name", PLAIN)
def test_halves_in_either_order(name, dim, gate):
    x = torch.randn(6, 4, 10)
    first, second = x.chunk(2, dim)
    original = PLAIN[name][0]
    wanted = first * original(second) if gate == "second" else original(first) * second
    torch.testing.assert_close(ext.glu(x, name, gate=gate, dim=dim), wanted)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x,
        lambda x: x.transpose(0, 2),
        lambda x: x[:, ::2],
        lambda x: x[..., 1::3],
        lambda x: x[:, :1].expand(-1, 5, -1),
        lambda x: x[0, 0, 0],
        lambda x: x[:0],
        lambda x: x.to(memory_format=torch.contiguous_format).unsqueeze(1).permute(0, 3, 1, 2),
    ],
)
def test_layouts(backend, view):
    x = view(torch.randn(4, 6, 8))
    ours = ext.gelu(x)
    torch.testing.assert_close(ours, F.gelu(x))
    assert ours.stride() == torch.empty_like(x).stride()
    torch.testing.assert_close(ext.gated(x, x.clone(), "silu"), x * F.silu(x))


class Wide(torch.nn.Module):
    def forward(self, x):
        return F.silu(x.float(), inplace=False).to(x.dtype)


class Migrated(torch.nn.Module):
    def forward(self, inputs):
        return mindiesd.ext.silu(inputs, result_type="input")


class Doubled(torch.nn.Module):
    def forward(self, x):
        return F.silu(x.float() * 2, inplace=False).to(x.dtype)


def hooked():
    module = torch.nn.SiLU()
    module.register_forward_hook(lambda module, args, result: result + 1)
    return module


MODULES = {
    "silu": (torch.nn.SiLU, 1),
    "ours": (ext.SiLU, 1),
    "gelu by tanh": (lambda: torch.nn.GELU("tanh"), 1),
    "in float32": (Wide, 1),
    "in float32, migrated": (Migrated, 1),
    "another function": (Doubled, 0),
    "hooked": (hooked, 0),
    "over its operand": (lambda: torch.nn.SiLU(inplace=True), 0),
    "relu": (torch.nn.ReLU, 0),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", MODULES)
def test_modules_that_gate(monkeypatch, name, dtype):
    """A known module goes into the one pass, any other is called."""
    made, passes = MODULES[name]
    module, x, gate = made(), torch.randn(7, 33).to(dtype), torch.randn(7, 33).to(dtype)
    wanted = x * module(gate.clone())
    exact = x.double() * module(gate.double())
    seen = []
    compute = activation._gated
    monkeypatch.setattr(activation, "_gated", lambda *given: seen.append(1) or compute(*given))
    assert_accurate(ext.gated(x, gate, module), wanted, exact)
    assert len(seen) == passes


@pytest.mark.parametrize(
    "x, gate",
    [
        (torch.randn(4, 1, 8), torch.randn(4, 6, 8)),
        (torch.randn(4, 6, 8), torch.randn(8)),
        (torch.randn(()), torch.randn(3)),
        (torch.randn(3), torch.randn((), dtype=torch.float64)),
        (torch.arange(3), torch.randn(3)),
        (torch.randn(3) > 0, torch.randn(3).bfloat16()),
        (torch.randn(3, dtype=torch.complex64), torch.randn(3)),
        (0.5, torch.randn(3).half()),
        (2, torch.randn(0, 3)),
    ],
)
def test_products_of_other_operands_are_torchs(x, gate):
    for strides, wanted in (("x", x * F.silu(gate)), ("gate", F.silu(gate) * x)):
        ours = ext.gated(x, gate, "silu", strides=strides)
        torch.testing.assert_close(ours, wanted, rtol=0, atol=0)
        assert ours.stride() == wanted.stride()


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (2, 0, 1)])
def test_the_first_operand_of_a_product_orders_it(order):
    x, gate = torch.randn(3, 4, 5), torch.randn(3, 4, 5).permute(order).contiguous()
    gate = gate.permute([order.index(d) for d in range(3)])
    for strides, wanted in (("x", x * F.silu(gate)), ("gate", F.silu(gate) * x)):
        ours = ext.gated(x, gate, "silu", strides=strides)
        torch.testing.assert_close(ours, wanted)
        assert ours.stride() == wanted.stride()


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int64, torch.uint8])
def test_silu_in_float32(dtype):
    x = (torch.randn(5, 9) * 4).to(dtype)
    ours, wanted = ext.silu(x, result_type="input"), Wide()(x)
    assert ours.dtype == wanted.dtype
    torch.testing.assert_close(ours, wanted)


def test_nan_and_infinity(backend):
    x = torch.tensor([float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1e30, -1e30])
    finite = torch.tensor([0, 2, 3, 4, 5, 6])  # torch's own vectorised gelu makes NaN of infinity
    for original, ours in PLAIN.values():
        torch.testing.assert_close(ours(x)[finite], original(x)[finite], equal_nan=True)
        assert backend == "math" or ours(x)[1] == float("inf")


def test_modules_stand_in_for_torchs():
    x = torch.randn(3, 8)
    for ours, theirs in (
        (ext.GELU(), torch.nn.GELU()),
        (ext.GELU(approximate="tanh"), torch.nn.GELU(approximate="tanh")),
        (ext.SiLU(), torch.nn.SiLU()),
    ):
        assert isinstance(ours, type(theirs))
        torch.testing.assert_close(ours(x), theirs(x))
        with torch.enable_grad():
            wanted = x.clone().requires_grad_()
            ours(wanted).sum().backward()
            assert wanted.grad is not None
    y = x.clone()
    assert ext.SiLU(inplace=True)(y) is y


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda x: ext.gelu(x, "erf"), "approximate must be one of"),
        (lambda x: ext.gelu([1.0]), "x must be a torch.Tensor"),
        (lambda x: ext.silu(None), "x must be a torch.Tensor"),
        (lambda x: ext.gated(x, x[:1], "silu", out=x), "out needs an activation known by name"),
        (lambda x: ext.gated([1.0], x, "silu"), "x must be a tensor or a number"),
        (lambda x: ext.gated(x, x, "silu", strides="dense"), "strides must be one of"),
        (lambda x: ext.gated(x, x, len), "activation must be the name of an activation or a module"),
        (lambda x: ext.silu(x, result_type="float32"), "result_type must be one of"),
        (lambda x: ext.gated(x, x, "relu"), "activation must be one of"),
        (lambda x: ext.glu(x, "silu", gate="left"), "gate must be one of"),
        (lambda x: ext.glu(x, "silu", dim=2), "dim must be an int in -2 to 1"),
    ],
)
def test_bad_arguments(call, text):
    with pytest.raises(ParametersInvalid, match=text):
        call(torch.randn(3, 8))


def test_what_is_not_floating_is_torchs_to_refuse():
    z = torch.randn(2, 6, dtype=torch.complex64)
    for call in (ext.gelu, torch.nn.functional.gelu):
        with pytest.raises(NotImplementedError):
            call(z)
    torch.testing.assert_close(ext.silu(z), torch.nn.functional.silu(z))
    cube = 0.044715 * z**3
    expected = 0.5 * z * (1 + torch.tanh(math.sqrt(2 / math.pi) * (z + cube)))
    torch.testing.assert_close(ext.gelu(z, approximate="tanh"), expected)


def test_an_odd_size_has_parts_of_two_sizes():
    with pytest.raises(RuntimeError, match="must match"):
        ext.glu(torch.randn(3, 7), "silu")
    x = torch.randn(5, 3)  # two columns and one, which torch's product repeats
    first, second = x.chunk(2, dim=-1)
    torch.testing.assert_close(ext.glu(x, "gelu"), first * torch.nn.functional.gelu(second))


@pytest.mark.parametrize("dtype", [torch.int64, torch.int8, torch.bool])
def test_whole_numbers_count_as_in_the_product(dtype):
    x = (torch.arange(24).reshape(2, 12) % 5).to(dtype)
    for _ in range(3):
        cube = x.to(torch.float32) ** 3
        bend = torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * cube))
        pairs = (
            (ext.gelu(x, approximate="fast"), x * torch.sigmoid(1.702 * x)),
            (ext.silu(x), x * torch.sigmoid(x)),
            (ext.gelu(x), 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))),
            (ext.gelu(x, approximate="tanh"), 0.5 * x * (1 + bend)),
        )
        for found, expected in pairs:
            assert found.dtype == expected.dtype
            torch.testing.assert_close(found, expected)
