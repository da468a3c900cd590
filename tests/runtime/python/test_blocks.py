"""Residual sums, norms and modulation of transformer blocks: every form in one pass and as exact as the lines
that it replaces, and those lines for everything that a pass does not take."""

import mindiesd
import pytest
import torch
import torch.nn.functional as F
from accuracy import FLOATS, assert_accurate
from mindiesd import ext
from mindiesd.utils import ParametersInvalid
from torch.utils._python_dispatch import TorchDispatchMode

BF16, F32 = torch.bfloat16, torch.float32


class OwnRMSNorm(torch.nn.Module):
    """A repository's RMSNorm, as refit leaves it."""

    def __init__(self, width, eps=1e-6, result_type="weight", bias=False):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))
        self.bias = torch.nn.Parameter(torch.zeros(width)) if bias else None
        self.eps, self.result_type = eps, result_type

    def forward(self, x):
        return ext.rms_norm(x, self.weight, self.eps, bias=self.bias, result_type=self.result_type)


class Casting(torch.nn.LayerNorm):
    """diffusers' FP32LayerNorm."""

    def forward(self, x):
        dtype = x.dtype
        return F.layer_norm(
            x.float(),
            self.normalized_shape,
            self.weight.float() if self.weight is not None else None,
            self.bias.float() if self.bias is not None else None,
            self.eps,
        ).to(dtype)


class Operators(TorchDispatchMode):
    """What ran, by name."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function.name() != "aten::promote_types":
            self.seen.append(function.name())
        return function(*args, **(kwargs or {}))

    def __enter__(self):
        self.seen = []
        return super().__enter__()


def ran(call):
    with Operators() as operators:
        call()
    return operators.seen


def pick(random, *choices):
    return choices[torch.randint(len(choices), (), generator=random).item()]


def randomised(module, random):
    for parameter in module.parameters():
        parameter.normal_(generator=random)
    return module


def wide(module):
    """The same in float64."""
    import copy

    made = copy.deepcopy(module).double()
    if isinstance(made, OwnRMSNorm):
        made.result_type = "float32"
    return made


def exact_norm(module, x):
    if isinstance(module, Casting):
        return F.layer_norm(x, module.normalized_shape, module.weight, module.bias, module.eps)
    return module(x)


def lines(norm, x, branch, gate, scale, shift, tanh, branch_norm, of=lambda module, x: module(x)):
    """What stands in model code: (sum, normalised)."""
    if branch_norm is not None:
        branch = of(branch_norm, branch)
    if gate is not None:
        branch = (gate.tanh() if tanh else gate) * branch
    total = x + branch
    y = of(norm, total)
    y = y if scale is None else y * (1 + scale)
    return total, y if shift is None else y + shift


NORMS = {
    "LayerNorm": lambda width: torch.nn.LayerNorm(width, eps=1e-5),
    "LayerNorm without weight": lambda width: torch.nn.LayerNorm(width, elementwise_affine=False),
    "casting": Casting,
    "RMSNorm": lambda width: torch.nn.RMSNorm(width, eps=1e-5),
    "RMSNorm without weight": lambda width: torch.nn.RMSNorm(width, 1e-5, elementwise_affine=False),
    "published": mindiesd.RMSNorm,
    "own": OwnRMSNorm,
}


@pytest.mark.parametrize("seed", range(60))
def test_blocks_of_every_form(backend, seed):
    random = torch.Generator().manual_seed(seed)
    dtype, width = pick(random, *FLOATS), pick(random, 16, 24, 100, 257, 1024)
    batch, length = pick(random, (1, 3), (2, 5), (3, 1), (0, 4), (2, 64))

    def drawn(*sizes):
        return torch.randn(*sizes, generator=random).to(dtype)

    def modulator():
        sizes = pick(random, (batch, 1, width), (batch, length, width), (1, 1, width), (width,), None)
        return None if sizes is None else drawn(*sizes)

    name = pick(random, *NORMS)
    norm = randomised(NORMS[name](width), random).to(dtype)
    own = pick(random, None, randomised(OwnRMSNorm(width), random).to(dtype))
    x, branch = drawn(batch, length, width), drawn(batch, length, width)
    gate, scale, shift = modulator(), modulator(), modulator()
    tanh = gate is not None and pick(random, True, False)
    names = {"rms_type": "weight", "branch_rms_type": "weight", "gate_function": "tanh" if tanh else None}

    def call():
        return ext.residual_norm(norm, x, branch, gate, scale, shift, branch_norm=own, **names)

    total, normal = call()
    theirs = lines(norm, x, branch, gate, scale, shift, tanh, own)
    operands = [None if t is None else t.double() for t in (x, branch, gate, scale, shift)]
    wider = None if own is None else wide(own)
    exact = lines(wide(norm), *operands, tanh, wider, exact_norm)
    added = (exact[0] - operands[0]).abs() + operands[0].abs()
    assert_accurate(total, theirs[0], exact[0], added)
    terms = exact[1].abs() + (0 if shift is None else 2 * shift.double().abs())
    bias = getattr(norm, "bias", None)
    assert_accurate(normal, theirs[1], exact[1], terms + (0 if bias is None else bias.double().abs()))
    assert normal.is_contiguous()
    assert total.stride() == torch.empty_like(x).stride()
    assert ran(call) == ["mindiesd::residual_norm"]
    branch_alone = {k: v for k, v in names.items() if k != "rms_type"}
    alone = ext.residual(x, branch, gate, branch_norm=own, **branch_alone)
    assert_accurate(alone, theirs[0], exact[0], added)


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_modulated_norms(backend, name, dtype):
    norm = randomised(NORMS[name](96), torch.Generator().manual_seed(0)).to(dtype)
    x, scale, shift = (torch.randn(2, 40, 96).to(dtype) for _ in range(3))
    for a, b in ((None, None), (scale[:, :1], None), (scale[:, :1], shift), (None, shift[:1, :1])):
        def call(a=a, b=b):
            return ext.norm_scale_shift(norm, x, a, b, rms_type="weight")

        def formula(norm, x, a, b, of):
            y = of(norm, x)
            y = y if a is None else y * (1 + a)
            return y if b is None else y + b

        exact = formula(wide(norm), *(None if t is None else t.double() for t in (x, a, b)), exact_norm)
        terms = exact.abs() + (0 if b is None else 2 * b.double().abs())
        bias = getattr(norm, "bias", None)
        terms = terms + (0 if bias is None else 2 * bias.double().abs())
        theirs = formula(norm, x, a, b, lambda module, x: module(x))
        assert_accurate(call(), theirs, exact, terms)
        assert ran(call) == ["mindiesd::norm_scale_shift"]


def test_casts_are_absorbed():
    """As Wan has them: hidden states of bfloat16, modulators and norms of float32."""
    norm = randomised(Casting(128), torch.Generator().manual_seed(0))
    h, y = torch.randn(1, 300, 128).to(BF16), torch.randn(1, 300, 128).to(BF16)
    gate, scale, shift = torch.randn(1, 3, 128).chunk(3, 1)
    found = ext.residual_norm(
        norm, h, y, gate, scale, shift, sum_dtype=BF16, input_dtype=F32, dtype=BF16
    )
    total = (h.float() + y * gate).type_as(h)
    theirs = total, (norm(total.float()) * (1 + scale) + shift).type_as(h)
    exact = lines(wide(norm), *(t.double() for t in (h, y, gate, scale, shift)), False, None, exact_norm)
    assert_accurate(found[0], theirs[0], exact[0], h.double().abs() + (gate * y).double().abs())
    assert_accurate(found[1], theirs[1], exact[1], exact[1].abs() + shift.double().abs() * 2)
    assert found[0].dtype == found[1].dtype == BF16
    found = ext.norm_scale_shift(norm, h, scale, shift, input_dtype=F32, dtype=BF16)
    theirs = (norm(h.float()) * (1 + scale) + shift).type_as(h)
    exact = exact_norm(wide(norm), h.double()) * (1 + scale.double()) + shift.double()
    assert_accurate(found, theirs, exact, exact.abs() + shift.double().abs() * 2)
    assert ext.norm_scale_shift(norm, h, input_dtype=F32).dtype == F32
    assert ext.norm_scale_shift(norm, h).dtype == BF16
    assert ext.residual(h, y, gate).dtype == F32
    assert ext.residual(h, y, gate, dtype=BF16).dtype == BF16


@pytest.mark.parametrize("types", [(F32, BF16, F32), (BF16, F32, BF16), (torch.float16, BF16, F32)])
def test_types_are_those_of_the_expression(types):
    x, branch, gate = (torch.randn(2, 5, 16).to(t) for t in types)
    norm = torch.nn.LayerNorm(16)
    total, normal = ext.residual_norm(norm, x, branch, gate)
    wanted = x + gate * branch
    assert (total.dtype, normal.dtype) == (wanted.dtype, norm(wanted).dtype)
    torch.testing.assert_close(ext.residual(x, branch, gate), wanted)
    number = torch.tensor(2.0, dtype=torch.float64)  # of no dimension: it does not widen
    assert ext.residual(x, branch, number).dtype == (x + number * branch).dtype


X, Y, GATE = torch.randn(2, 5, 8), torch.randn(2, 5, 8), torch.randn(2, 1, 8)


def hooked():
    norm = torch.nn.LayerNorm(8)
    norm.register_forward_hook(lambda module, args, result: 2 * result)
    return norm


def with_a_forward():
    norm = torch.nn.LayerNorm(8)
    norm.forward = lambda x: F.layer_norm(x, (8,)) + 1
    return norm


class Wrapped(torch.nn.Module):
    """An adapter around a norm."""

    def __init__(self):
        super().__init__()
        self.base = torch.nn.LayerNorm(8)

    def forward(self, x):
        return self.base(x) + 0.1 * x

    @property
    def weight(self):
        return self.base.weight


def parametrised():
    norm = torch.nn.LayerNorm(8)
    torch.nn.utils.parametrize.register_parametrization(norm, "weight", torch.nn.Softplus())
    return norm


def hooked_own():
    norm = OwnRMSNorm(8)
    norm.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    return norm


ODD_NORMS = {
    "identity": torch.nn.Identity,
    "hooked": hooked,
    "a forward of its own": with_a_forward,
    "wrapped": Wrapped,
    "parametrised": parametrised,
    "several dimensions": lambda: torch.nn.LayerNorm((5, 8)),
    "another layer": lambda: torch.nn.Linear(8, 8),
    "RMSNorm with a hook": hooked_own,
    "a function": lambda: lambda x: 3 * x,
    "RMSNorm with a bias": lambda: OwnRMSNorm(8, bias=True),
    "scripted": lambda: torch.jit.script(torch.nn.LayerNorm(8)),
}


@pytest.mark.parametrize("name", ODD_NORMS)
def test_norms_that_are_something_else(name):
    """The original's result, whatever stands in the norm's place at run time."""
    norm = ODD_NORMS[name]()
    for _ in range(3):
        total, normal = ext.residual_norm(norm, X, Y, GATE, GATE, rms_type="weight")
        torch.testing.assert_close(total, X + GATE * Y)
        torch.testing.assert_close(normal, norm(X + GATE * Y) * (1 + GATE))
        found = ext.norm_scale_shift(norm, X, GATE, GATE, rms_type="weight")
        torch.testing.assert_close(found, norm(X) * (1 + GATE) + GATE)
        found = ext.residual(X, Y, GATE, branch_norm=norm, branch_rms_type="weight")
        torch.testing.assert_close(found, X + GATE * norm(Y))


def test_a_typed_norm_says_its_type():
    norm = ext.TypedRMSNorm(8, result_type="float32").to(BF16)
    x = X.to(BF16)
    assert ext.norm_scale_shift(norm, x).dtype == F32
    assert ran(lambda: ext.norm_scale_shift(norm, x)) == ["mindiesd::norm_scale_shift"]
    found = ext.norm_scale_shift(type("Doubled", (ext.TypedRMSNorm,), {"forward": lambda self, x: 2 * x})(8), X)
    torch.testing.assert_close(found, 2 * X)


@pytest.mark.parametrize("x", [X, Y.transpose(0, 1), torch.randn(2, 8, 5).mT, torch.randn(1, 1, 8).expand(2, 5, 8)])
@pytest.mark.parametrize("name", ["own", "RMSNorm"])
def test_results_lie_as_x(x, name):
    """As behind diffusers' norm, which is computed element by element: x first."""
    norm = NORMS[name](8)
    scale, branch = torch.randn(1, 8), torch.randn(8, *x.shape[:-1]).movedim(0, -1)
    options = {"rms_type": "weight", "strides": "x"}
    norm_by_hand = OwnRMSNorm(8, eps=norm.eps)
    wanted = norm_by_hand(x) * (1 + scale)
    found = ext.norm_scale_shift(norm, x, scale, **options)
    torch.testing.assert_close(found, wanted)
    assert found.stride() == wanted.stride()
    x = x.clone()  # in the order of x, but not expanded
    total, normal = ext.residual_norm(norm, x, branch, scale=scale, **options)
    torch.testing.assert_close(normal, norm_by_hand(x + branch) * (1 + scale))
    assert (total.stride(), normal.stride()) == ((x + branch).stride(),) * 2
    with pytest.raises(ParametersInvalid, match="strides must be one of 'dense', 'x'"):
        ext.norm_scale_shift(norm, x, strides="y")


def test_a_norm_that_changes_while_it_is_used():
    norm, other = torch.nn.LayerNorm(8), torch.nn.LayerNorm(8, eps=0.5)
    torch.nn.init.normal_(other.weight)
    for _ in range(3):
        torch.testing.assert_close(ext.residual_norm(norm, X, Y)[1], norm(X + Y))
    norm.weight = other.weight  # moved elsewhere and back, or loaded
    for _ in range(2):
        torch.testing.assert_close(ext.residual_norm(norm, X, Y)[1], norm(X + Y))
    norm.eps = 0.5
    torch.testing.assert_close(ext.residual_norm(norm, X, Y)[1], other(X + Y))
    handle = norm.register_forward_hook(lambda *args: args[-1] + 1)
    torch.testing.assert_close(ext.residual_norm(norm, X, Y)[1], other(X + Y) + 1)
    handle.remove()
    norm.weight.data = torch.randn(8)
    torch.testing.assert_close(ext.residual_norm(norm, X, Y)[1], norm(X + Y))


ODD_GATES = {
    "a number": 0.5,
    "an int": 2,
    "integers": torch.tensor([[[1, 2, 3, 4, 5, 6, 7, 8]]]),
    "booleans": torch.rand(2, 5, 8) > 0.5,
    "no dimension": torch.tensor(0.25),
    "a row of the batch": torch.randn(5, 8),
    "one of each row": torch.randn(2, 5, 1),
    "more dimensions": torch.randn(3, 1, 1, 8),
    "float64": torch.randn(2, 1, 8).double(),
    "expanded": torch.randn(1, 1, 8).expand(2, 5, 8),
    "every other": torch.randn(2, 1, 16)[..., ::2],
    "reversed rows": torch.randn(2, 5, 8).flip(1),
}


TENSORS = [name for name, gate in ODD_GATES.items() if isinstance(gate, torch.Tensor)]


@pytest.mark.parametrize(
    "name, function", [*((n, None) for n in ODD_GATES), *((n, "tanh") for n in TENSORS)]
)
def test_gates_scales_and_shifts_of_every_kind(name, function):
    gate = ODD_GATES[name]
    wanted = X + (gate.tanh() if function else gate) * Y
    norm = torch.nn.LayerNorm(8, dtype=wanted.dtype)
    total, normal = ext.residual_norm(norm, X, Y, gate, gate, gate, gate_function=function)
    torch.testing.assert_close(total, wanted)
    torch.testing.assert_close(normal, norm(wanted) * (1 + gate) + gate)
    torch.testing.assert_close(ext.residual(X, Y, gate, gate_function=function), wanted)


def test_operands_that_share_memory_or_repeat():
    norm = torch.nn.LayerNorm(8)
    x = torch.randn(2, 1, 8).expand(2, 5, 8)
    both = torch.randn(2, 5, 16)
    for a, b in ((x, Y), (Y, x), (x, x), (X, X), (both[..., :8], both[..., 8:]), (both[..., 4:12], both[..., :8])):
        total, normal = ext.residual_norm(norm, a, b, GATE)
        torch.testing.assert_close(total, a + GATE * b)
        torch.testing.assert_close(normal, norm(a + GATE * b))
        torch.testing.assert_close(ext.residual(a, b, GATE), a + GATE * b)


@pytest.mark.parametrize("shape", [(0, 5, 8), (2, 0, 8), (1, 1, 8), (8,), (5, 8), (1, 2, 3, 4, 8)])
def test_few_and_no_tokens(shape):
    norm, x = torch.nn.LayerNorm(8), torch.randn(shape)
    total, normal = ext.residual_norm(norm, x, x, x, x, x)
    torch.testing.assert_close(total, x + x * x)
    torch.testing.assert_close(normal, norm(x + x * x) * (1 + x) + x)
    torch.testing.assert_close(ext.residual(x, x), x + x)
    torch.testing.assert_close(ext.norm_scale_shift(norm, x, x), norm(x) * (1 + x))


def test_a_product_may_stand_in_either_order():
    norm, calls = torch.nn.LayerNorm(8), []
    for branch, gate in ((Y, GATE), (GATE, Y)):
        calls.append(ran(lambda branch=branch, gate=gate: ext.residual(X, branch, gate)))
        torch.testing.assert_close(ext.residual(X, branch, gate), X + Y * GATE)
        torch.testing.assert_close(ext.residual_norm(norm, X, branch, gate)[1], norm(X + Y * GATE))
    assert calls == [["mindiesd::residual"]] * 2


def test_what_is_no_tensor_is_computed_as_written():
    norm = torch.nn.LayerNorm(8)
    torch.testing.assert_close(ext.residual(0, X, GATE), X * GATE)
    torch.testing.assert_close(ext.residual_norm(norm, X, 1.5)[1], norm(X + 1.5))
    with pytest.raises(TypeError):
        ext.residual(None, X)


def test_types_by_name():
    norm, x, y = torch.nn.LayerNorm(8), X.bfloat16(), Y.bfloat16()
    total, normal = ext.residual_norm(
        norm, x, y, GATE, input_dtype="float32", sum_dtype=torch.bfloat16, dtype="sum"
    )
    assert (total.dtype, normal.dtype) == (BF16, BF16)
    wanted = norm((x.float() + y * GATE).bfloat16().float()).bfloat16()
    torch.testing.assert_close(normal, wanted, atol=2e-2, rtol=2e-2)
    assert ext.residual_norm(norm, 0, y.float(), dtype="sum")[1].dtype == F32


def test_branches_that_broadcast_and_integers():
    norm = torch.nn.LayerNorm(8)
    for x, branch in ((X, Y[:1, :1]), (X[:1], Y), (X, torch.ones(8)), (X, torch.arange(8)), (X.double(), Y)):
        total, normal = ext.residual_norm(norm.to(X.dtype), x.to(X.dtype), branch, GATE)
        torch.testing.assert_close(total, x.to(X.dtype) + GATE * branch)
        torch.testing.assert_close(ext.residual(x, branch), x + branch)


def test_squares_beyond_float32():
    """The branch's own norm, too, takes rows of any size."""
    norm, own = torch.nn.LayerNorm(40), OwnRMSNorm(40)
    sizes = torch.tensor([1.0, 2.0**70, 2.0**120])[:, None]
    x, branch = torch.randn(3, 40), torch.randn(3, 40) * sizes
    total, normal = ext.residual_norm(norm, x, branch, branch_norm=own, branch_rms_type="weight")
    exact = x.double() + branch.double() * torch.rsqrt(branch.double().square().mean(-1, keepdim=True))
    torch.testing.assert_close(total.double(), exact, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(normal.double(), F.layer_norm(exact, (40,)), rtol=1e-4, atol=1e-4)
    extreme = torch.tensor([0.0, 1e-8, 1e-3, 0.2, 0.3, 9.0, 90.0, -1e-3, -0.2, -9.0, float("inf")])
    found = ext.residual(torch.zeros(11), torch.ones(11), extreme, gate_function="tanh")
    torch.testing.assert_close(found, extreme.tanh(), rtol=3e-7, atol=0)
    nan = ext.residual(torch.zeros(2), torch.ones(2), torch.tensor([float("nan"), 1.0]), gate_function="tanh")
    assert nan.isnan().tolist() == [True, False]


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: ext.residual(X, X, dtype="input"), "dtype must be None or a floating torch.dtype"),
        (lambda: ext.residual(X, X, gate_function="relu"), "gate_function must be one of"),
        (lambda: ext.residual(X, X, branch_rms_type="torch"), "branch_rms_type must be one of"),
        (lambda: ext.norm_scale_shift(NORMS["own"](8), [X]), "x must be a torch.Tensor"),
        (lambda: ext.norm_scale_shift(None, X, dtype=torch.int32), "dtype must be None"),
        (lambda: ext.norm_scale_shift(None, X, rms_type="half"), "rms_type must be one of"),
        (lambda: ext.residual_norm(None, X, X, sum_dtype=1), "sum_dtype must be None"),
        (lambda: ext.residual_norm(None, X, X, input_dtype=X), "input_dtype must be None"),
    ],
)
def test_bad_arguments(call, text):
    with pytest.raises(ParametersInvalid, match=text):
        call()


ORDERS = ((0, 1, 2), (0, 2, 1), (1, 0, 2), (2, 0, 1))


@pytest.mark.parametrize("dtype", [F32, BF16])
@pytest.mark.parametrize("sizes", [(3, 4, 8), (3, 1, 8), (1, 1, 8), (8,), (1, 4, 1)])
@pytest.mark.parametrize("of_branch", ORDERS)
@pytest.mark.parametrize("of_x", ORDERS)
def test_the_strides_of_a_sum_with_the_product_first(of_x, of_branch, sizes, dtype):
    def laid(order):
        drawn = torch.randn([(3, 4, 8)[d] for d in order]).to(dtype)
        return drawn.permute([order.index(d) for d in range(3)])

    x, branch, gate = laid(of_x), laid(of_branch), torch.randn(sizes).to(dtype)
    gates = [gate] if gate.dim() < 3 else [gate, gate.transpose(0, 2).contiguous().transpose(0, 2)]
    for gate in gates:
        for strides, wanted in (
            ("x", x + gate * branch), ("gate", gate * branch + x), ("branch", branch * gate + x),
        ):  # fmt: skip
            ours = ext.residual(x, branch, gate, strides=strides)
            assert ours.stride() == wanted.stride()
            torch.testing.assert_close(ours, wanted, rtol=0.02, atol=0.02)  # the product is not rounded
            turned = {"x": "x", "gate": "branch", "branch": "gate"}[strides]
            assert ext.residual(x, gate, branch, strides=turned).stride() == wanted.stride()
    ours = ext.residual(x, branch, strides="branch")
    assert ours.stride() == (branch + x).stride()


def test_the_strides_of_a_sum_by_torchs_operators():
    x, branch = torch.randn(4, 3).t(), torch.randn(2, 3, 4)
    for gate in (torch.randn(2, 1, 1), 0.5, torch.randn(())):
        for strides, wanted in (("gate", gate * branch + x), ("branch", branch * gate + x)):
            ours = ext.residual(x, branch, gate, strides=strides)
            assert ours.stride() == wanted.stride()
            torch.testing.assert_close(ours, wanted)
    with pytest.raises(ParametersInvalid, match="strides must be one of 'x', 'branch', 'gate'"):
        ext.residual(x, branch, strides="dense")
