"""A linear layer with its activation against the lines that it replaces: on the CPU everywhere, by cuBLASLt's
epilogue where there is a GPU; and modules that have to be called."""

import functools

import pytest
import torch
import torch.nn.functional as F
from accuracy import FLOATS, HALF, assert_accurate
from mindiesd import _eager, _library, _ops, ext
from mindiesd.utils import ParametersInvalid
from torch.utils._python_dispatch import TorchDispatchMode

DEVICES = [
    "cpu",
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
    ),
]
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")

PLAIN = {
    "gelu": F.gelu,
    "gelu-tanh": lambda x: F.gelu(x, approximate="tanh"),
    "gelu-fast": lambda x: x * torch.sigmoid(1.702 * x),
    "silu": F.silu,
}


class Operators(TorchDispatchMode):
    """What ran, by name."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.seen.append(function.name())
        return function(*args, **(kwargs or {}))

    def __enter__(self):
        self.seen = []
        return super().__enter__()


def ours(call):
    """The names of our operators that ran."""
    with Operators() as operators:
        call()
    return [name for name in operators.seen if name.startswith("mindiesd::")]


def layer(inputs, outputs, dtype, device, bias=True):
    made = torch.nn.Linear(inputs, outputs, bias=bias, device=device)
    for parameter in made.parameters():
        parameter.normal_(std=0.1)
    return made.to(dtype)


def wide(linear, x):
    bias = None if linear.bias is None else linear.bias.double()
    return F.linear(x.double(), linear.weight.double(), bias)


SHAPES = ((2, 128, 64), (1, 7, 24), (3, 1, 8), (513, 40), (24,), (0, 5, 16), (2, 0, 16), (2, 3, 4, 30))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("device", DEVICES)
def test_as_accurate_as_the_lines(backend, device, name, bias, dtype):
    for shape in SHAPES:
        for outputs in (96, 33):
            x = torch.randn(shape, device=device).to(dtype)
            linear = layer(shape[-1], outputs, dtype, device, bias)
            exact = PLAIN[name](wide(linear, x))
            original = PLAIN[name](linear(x))
            found = ext.linear_activation(linear, x, name)
            assert found.stride() == original.stride()
            # Sums of products are as exact as the sum of their magnitudes allows.
            size = F.linear(x.double().abs(), linear.weight.double().abs()) + exact.abs()
            assert_accurate(found, original, exact, size)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("device", DEVICES)
def test_rows_of_any_strides_and_a_slice_of_a_wider_result(backend, device, dtype):
    linear = layer(64, 96, dtype, device)
    for view in (
        lambda x: x[..., 64:128],
        lambda x: x[..., 3:67],
        lambda x: x[..., ::3],
        lambda x: x[:, ::2, :64],
        lambda x: x[:, :1, :64].expand(-1, 6, -1),
        lambda x: x[..., :64].transpose(0, 1),
    ):
        x = view(torch.randn(3, 6, 192, device=device).to(dtype))
        original = PLAIN["gelu-tanh"](linear(x))
        for begin, end in ((8, 104), (5, 101)):
            joined = torch.full((*x.shape[:-1], 128), 7.0, device=device, dtype=dtype)
            into = joined[..., begin:end]
            assert ext.linear_activation(linear, x, "gelu-tanh", out=into) is into
            assert (joined[..., :begin] == 7).all() and (joined[..., end:] == 7).all()
            torch.testing.assert_close(into, original, rtol=2e-2, atol=1e-2)
        found = ext.linear_activation(linear, x, "gelu-tanh")
        torch.testing.assert_close(found, original, rtol=2e-2, atol=1e-2)


@pytest.mark.parametrize("gate", ["first", "second"])
@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("device", DEVICES)
def test_gated_products(device, name, gate):
    linear, x = layer(16, 48, torch.float32, device), torch.randn(2, 5, 16, device=device)
    first, second = linear(x).chunk(2, -1)
    wanted = PLAIN[name](first) * second if gate == "first" else first * PLAIN[name](second)
    torch.testing.assert_close(ext.linear_activation(linear, x, name, gate=gate), wanted)
    joined = torch.zeros(2, 5, 40, device=device)
    ext.linear_activation(linear, x, name, gate=gate, out=joined[..., 16:])
    torch.testing.assert_close(joined[..., 16:], wanted)
    assert (joined[..., :16] == 0).all()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("device", DEVICES)
def test_behind_another_tensor(device, dtype):
    """As torch.cat has it: a block's attention before its activation."""
    linear, x = layer(64, 96, dtype, device), torch.randn(2, 9, 64, device=device).to(dtype)
    for before in (
        torch.randn(2, 9, 32, device=device).to(dtype),
        torch.randn(2, 9, 0, device=device).to(dtype),
        torch.randn(9, 2, 32, device=device).to(dtype).transpose(0, 1),
        torch.randn(2, 9, 1, device=device).to(dtype).expand(-1, -1, 8),
        torch.randn(2, 9, 8, device=device),
    ):
        for name, gate in (("gelu-tanh", None), ("silu", None), ("gelu", "second")):
            alone = ext.linear_activation(linear, x, name, gate=gate)
            wanted = torch.cat((before, alone), -1)
            found = ext.linear_activation(linear, x, name, gate=gate, after=before)
            assert (found.dtype, found.stride()) == (wanted.dtype, wanted.stride())
            torch.testing.assert_close(found, wanted, rtol=2e-2, atol=1e-2)
        wanted = torch.cat((before, torch.tanh(linear(x))), -1)
        assert torch.equal(ext.linear_activation(linear, x, torch.nn.Tanh(), after=before), wanted)
    before = torch.randn(2, 9, 32, device=device).to(dtype)
    with pytest.raises(RuntimeError, match="[Ss]izes of tensors must match"):
        ext.linear_activation(linear, x, "gelu-tanh", after=before[:, :4])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("rows", [9, 700])
def test_a_large_product_is_written_behind_another_tensor(device, dtype, rows):
    """A small one is copied there: launches cost more."""
    linear, x = layer(16, 1600, dtype, device), torch.randn(rows, 16, device=device).to(dtype)
    before = torch.randn(rows, 32, device=device).to(dtype)
    found = []
    names = ours(lambda: found.append(ext.linear_activation(linear, x, "gelu-tanh", after=before)))
    wide = device == "cuda" and dtype == torch.float32  # for which cuBLASLt has no such epilogue
    name = "mindiesd::activation" if wide else "mindiesd::linear_activation"
    assert names == [f"{name}.out" if rows > 9 else name]
    wanted = torch.cat((before, ext.linear_activation(linear, x, "gelu-tanh")), -1)
    torch.testing.assert_close(found[0], wanted, rtol=2e-2, atol=1e-2)


@pytest.mark.parametrize("approximate", ["none", "tanh", "fast"])
def test_the_form_is_the_callers(approximate):
    linear, x = layer(8, 16, torch.float32, "cpu"), torch.randn(3, 8)
    found = ext.linear_activation(linear, x, "gelu", approximate=approximate)
    torch.testing.assert_close(found, ext.gelu(linear(x), approximate))


def test_activations_as_modules():
    linear, x = layer(8, 16, torch.float32, "cpu"), torch.randn(3, 8)
    for module, expected in (
        (torch.nn.GELU("tanh"), ["mindiesd::linear_activation"]),
        (ext.GELU("tanh"), ["mindiesd::linear_activation"]),
        (torch.nn.GELU(), ["mindiesd::activation"]),
        (torch.nn.SiLU(inplace=True), ["mindiesd::activation"]),
        (ext.SiLU(), ["mindiesd::activation"]),
        (torch.nn.Tanh(), []),
    ):
        assert ours(lambda m=module: ext.linear_activation(linear, x, m)) == expected
        torch.testing.assert_close(ext.linear_activation(linear, x, module), module(linear(x)))
    hooked = torch.nn.GELU("tanh")
    hooked.register_forward_hook(lambda module, given, result: result + 1)
    torch.testing.assert_close(ext.linear_activation(linear, x, hooked), hooked(linear(x)))


class Adapted(torch.nn.Linear):
    """A layer with an adapter beside it, as LoRA has them."""

    def forward(self, x):
        return super().forward(x) + x.sum(-1, keepdim=True)


class Offloaded(torch.nn.Linear):
    """Its weights are fetched by a hook."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.away = self.weight.detach() * 2
        self.register_forward_pre_hook(lambda module, given: module.weight.data.copy_(module.away))


class Subclass(torch.Tensor):
    """A weight that brings a product of its own, as quantised ones do."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        result = super().__torch_function__(function, types, args, kwargs or {})
        return result.as_subclass(torch.Tensor) + 3 if function is F.linear else result


def replaced_forward(linear):
    """As accelerate places a module elsewhere."""
    original = linear.forward

    @functools.wraps(original)
    def forward(x):
        return original(x) - 1

    linear.forward = forward
    return linear


def parametrised(linear):
    class Doubled(torch.nn.Module):
        def forward(self, weight):
            return weight * 2

    torch.nn.utils.parametrize.register_parametrization(linear, "weight", Doubled())
    return linear


def subclassed(linear):
    linear.weight = torch.nn.Parameter(linear.weight.detach().as_subclass(Subclass), requires_grad=False)
    return linear


def hooked(linear):
    linear.register_forward_hook(lambda module, given, result: -result)
    return linear


@pytest.mark.parametrize(
    "make",
    [
        lambda: Adapted(8, 16),
        lambda: Offloaded(8, 16),
        lambda: hooked(torch.nn.Linear(8, 16)),
        lambda: replaced_forward(torch.nn.Linear(8, 16)),
        lambda: subclassed(torch.nn.Linear(8, 16)),
        lambda: torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh()),
        lambda: torch.nn.Identity(),
    ],
)
def test_a_module_that_is_no_plain_linear_is_called(make):
    linear, x = make(), torch.randn(3, 8)
    found = ext.linear_activation(linear, x, "gelu-tanh")
    torch.testing.assert_close(found, PLAIN["gelu-tanh"](linear(x)))
    assert ours(lambda: ext.linear_activation(linear, x, "gelu-tanh")) == ["mindiesd::activation"]
    into = torch.empty_like(found)
    ext.linear_activation(linear, x, "gelu-tanh", out=into)
    assert torch.equal(into, found)


def test_parametrised_weights_count_as_they_are():
    linear, x = parametrised(torch.nn.Linear(8, 16)), torch.randn(3, 8)
    for _ in range(2):
        found = ext.linear_activation(linear, x, "gelu-tanh")
        torch.testing.assert_close(found, PLAIN["gelu-tanh"](linear(x)))
        linear.parametrizations.weight.original.mul_(3)


def test_moved_and_replaced_weights():
    linear, x = torch.nn.Linear(8, 16), torch.randn(3, 8)
    for _ in range(3):
        found = ext.linear_activation(linear, x, "gelu-tanh")
        torch.testing.assert_close(found, PLAIN["gelu-tanh"](linear(x)))
        linear.weight = torch.nn.Parameter(torch.randn(16, 8))
        linear.bias = None
    with pytest.raises(RuntimeError, match="dtype|same"):  # as torch has it
        ext.linear_activation(linear, x.double(), "gelu-tanh")
    with pytest.raises(RuntimeError, match="shapes|mat1"):
        ext.linear_activation(linear, x[:, :7], "gelu-tanh")


@pytest.mark.parametrize("dtype", HALF)
def test_autocast_is_torchs(dtype):
    linear, x = torch.nn.Linear(8, 16), torch.randn(3, 8)
    with torch.autocast("cpu", dtype=dtype):
        expected = PLAIN["gelu-tanh"](linear(x))
        found = ext.linear_activation(linear, x, "gelu-tanh")
    assert found.dtype == expected.dtype
    torch.testing.assert_close(found, expected, rtol=2e-2, atol=2e-2)


def test_gradients_reach_weights_and_operand():
    linear, x = torch.nn.Linear(8, 16), torch.randn(3, 8, requires_grad=True)
    with torch.enable_grad():
        joined = torch.zeros(3, 20)
        into = joined[:, 4:]
        ext.linear_activation(linear, x, "gelu-tanh", out=into)
        (joined.sum() + ext.linear_activation(linear, x, "gelu-tanh").sum()).backward()
        found = [t.grad for t in (x, *linear.parameters())]
        joined = ext.linear_activation(linear, x, "gelu-tanh", after=(2 * x).detach().requires_grad_())
        assert joined.requires_grad
        for tensor in (x, *linear.parameters()):
            tensor.grad = None
        (2 * PLAIN["gelu-tanh"](linear(x)).sum()).backward()
    for gradient, tensor in zip(found, (x, *linear.parameters()), strict=True):
        torch.testing.assert_close(gradient, tensor.grad)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda m, x: ext.linear_activation(m, x, "relu"), "activation must be one of"),
        (lambda m, x: ext.linear_activation(m, x, 3), "name of an activation or a module"),
        (lambda m, x: ext.linear_activation(m, None, "gelu"), "x must be a torch.Tensor"),
        (lambda m, x: ext.linear_activation(m, x, "gelu", approximate="erf"), "approximate must be"),
        (lambda m, x: ext.linear_activation(m, x, "silu", gate="left"), "gate must be one of"),
        (lambda m, x: ext.linear_activation(m, x, torch.nn.Tanh(), gate="first"), "known by name"),
        (lambda m, x: ext.linear_activation(m, x, "gelu-tanh", out=x), "out must have the result's"),
        (lambda m, x: ext.linear_activation(m, x, "gelu", after=x, out=x), "not both be given"),
        (lambda m, x: ext.linear_activation(m, x, "gelu", after=3), "after must be a torch.Tensor"),
        (lambda m, x: ext.linear_activation(m, x, "silu", out=x.int()), "out must be a floating"),
        (
            lambda m, x: ext.linear_activation(m, x, "silu", out=torch.empty(3, 16, device="meta")),
            "out must be on the device",
        ),
    ],
)
def test_bad_arguments(call, text):
    with pytest.raises(ParametersInvalid, match=text):
        call(torch.nn.Linear(8, 16), torch.randn(3, 8))


@pytest.mark.parametrize("device", DEVICES)
def test_operands_of_out_that_share_memory_are_refused(device):
    linear = torch.nn.Linear(16, 16, device=device)
    x = torch.randn(4, 16, device=device)
    with pytest.raises(RuntimeError, match="share memory|single memory"):
        ext.linear_activation(linear, x, "gelu-tanh", out=torch.empty(1, 16, device=device).expand(4, 16))
    with pytest.raises(RuntimeError, match="share memory"):
        ext.silu(x[:3], out=x[1:])


@needs_gpu
@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("into", [False, True])
def test_one_kernel_computes_it(monkeypatch, dtype, into):
    """Of cuBLASLt, whose result is as exact as the lines at a model's size."""
    linear, x = layer(1024, 4096, dtype, "cuda"), torch.randn(2, 511, 1024, device="cuda").to(dtype)
    out = torch.empty(2, 511, 5120, device="cuda", dtype=dtype)[..., 1024:] if into else None
    found = []
    original = _library.linear_activation.__call__
    monkeypatch.setattr(
        _library, "linear_activation", lambda *a, **k: found.append(original(*a, **k)) or found[-1]
    )
    _eager.forget()
    arguments = (x, linear.weight, linear.bias, _ops.GELU_TANH)
    if into:
        _ops.linear_activation_into(*arguments, out)
    else:
        out = _ops.linear_activation(*arguments)
    assert found == [True]
    exact = PLAIN["gelu-tanh"](wide(linear, x))
    assert_accurate(out, PLAIN["gelu-tanh"](linear(x)), exact)


@needs_gpu
@pytest.mark.parametrize("into", [False, True])
def test_without_cublaslt_a_product_and_a_pass_compute_it(monkeypatch, into):
    _eager.forget()
    monkeypatch.setattr(_library, "linear_activation", lambda *a, **k: False)
    linear, x = layer(64, 96, torch.bfloat16, "cuda"), torch.randn(33, 64, device="cuda").bfloat16()
    out = torch.empty(33, 128, device="cuda", dtype=torch.bfloat16)[:, 32:] if into else None
    found = ext.linear_activation(linear, x, "gelu-tanh", out=out)
    torch.testing.assert_close(found, PLAIN["gelu-tanh"](linear(x)))


@needs_gpu
def test_captured_graphs_have_it():
    linear, x = layer(64, 128, torch.bfloat16, "cuda"), torch.randn(32, 64, device="cuda").bfloat16()
    joined = torch.zeros(32, 192, device="cuda", dtype=torch.bfloat16)
    ext.linear_activation(linear, x, "gelu-tanh", out=joined[:, 64:])
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        ext.linear_activation(linear, x, "gelu-tanh", out=joined[:, 64:])
        alone = ext.linear_activation(linear, x, "gelu-tanh")
    x.copy_(x.flip(0))
    for parameter in linear.parameters():
        parameter.mul_(0.5)
    graph.replay()
    wanted = ext.linear_activation(linear, x, "gelu-tanh")
    assert torch.equal(joined[:, 64:], wanted)
    assert torch.equal(alone, wanted)
