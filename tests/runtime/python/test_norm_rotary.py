"""A norm of query or key and the rotation behind it in one launch: every form as exact as the lines that it
replaces, and those lines for what a launch does not take."""

import copy

import pytest
import torch
from accuracy import FLOATS, HALF, Pool
from formulas import rotate, rotary
from mindiesd import ext
from mindiesd.utils import ParametersInvalid
from torch.utils._python_dispatch import TorchDispatchMode

B, S, N, D = 2, 7, 4, 16
MODES = {"rotated_half": False, "rotated_interleaved": True}


class Operators(TorchDispatchMode):
    """Our operators that ran."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function.namespace == "mindiesd":
            self.seen.append(function.name())
        return function(*args, **(kwargs or {}))


def ran(call):
    with Operators() as operators:
        result = call()
    return result, operators.seen


def normal(norm, x, heads):
    if heads is None:
        return norm(x)
    return norm(x.flatten(2)).unflatten(2, x.shape[2:])


def laid(x, how):
    """The same values as one of several operands that model code has: dense, a slice of a packed projection, rows
    with a gap between them, heads before the sequence."""
    if how == "packed":
        return torch.cat((x, x, x), 2)[:, :, x.shape[2] : 2 * x.shape[2]]
    if how == "padded":
        return torch.cat((x, x), -1)[..., : x.shape[-1]]
    if how == "transposed":
        return x.transpose(1, 2).contiguous().transpose(1, 2)
    return x


def norm_of(width, kind, dtype, affine=True):
    if kind == "typed":
        norm = ext.TypedRMSNorm(width, eps=1e-5, elementwise_affine=affine, result_type="weight").to(dtype)
    else:
        norm = kind(width, eps=1e-5, elementwise_affine=affine, dtype=dtype)
    for parameter in norm.parameters():
        parameter.normal_()
    return norm


@pytest.mark.parametrize("how", ["dense", "packed", "padded", "transposed"])
@pytest.mark.parametrize("heads", [None, 2, -2])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_every_form(backend, dtype, mode, heads, how):
    interleaved = MODES[mode]
    for kind in (torch.nn.RMSNorm, ext.RMSNorm, "typed"):
        x = laid(torch.randn(B, S, N, D).to(dtype), how)
        norm = norm_of(D if heads is None else N * D, kind, dtype, affine=how != "padded")
        for table_type, width in ((torch.float32, D // 2), (torch.float64, D), (dtype, D // 2)):
            angle = torch.rand(S, 1, width, dtype=torch.float64) * 6
            cos, sin = angle.cos().to(table_type), angle.sin().to(table_type)
            result, seen = ran(lambda: ext.norm_rotary(norm, x, cos, sin, mode, heads=heads))  # noqa: B023
            assert seen == ["mindiesd::norm_rotary"]
            given = cos.to(x.dtype), sin.to(x.dtype)
            theirs = rotary(normal(norm, x, heads), *given, interleaved).to(dtype)
            wide = normal(copy.deepcopy(norm).double(), x.double(), heads)
            exact = rotary(wide, cos.double(), sin.double(), interleaved)
            pool = Pool()
            # A rotation may cancel what was rounded before it.
            pool.add(result, theirs, exact, torch.hypot(exact, rotate(exact, interleaved)))
            pool.check()
            assert result.is_contiguous()
            assert torch.equal(ext.norm_rotary(norm, x, cos, sin, mode, heads=heads), result)


def test_enough_elements_for_the_largest_error():
    for dtype in HALF:
        for heads in (None, 2):
            x = torch.randn(2, 64, 8, 128).to(dtype)
            norm = norm_of(128 if heads is None else 1024, torch.nn.RMSNorm, dtype)
            angle = torch.rand(64, 1, 64) * 6
            result = ext.norm_rotary(norm, x, angle.cos(), angle.sin(), "rotated_interleaved", heads=heads)
            theirs = rotary(normal(norm, x, heads).float(), angle.cos(), angle.sin(), True).to(dtype)
            wide = normal(copy.deepcopy(norm).double(), x.double(), heads)
            exact = rotary(wide, angle.cos().double(), angle.sin().double(), True)
            pool = Pool()
            pool.add(result, theirs, exact, torch.hypot(exact, rotate(exact, True)))
            pool.check()


ANGLE = torch.rand(S, 1, D // 2) * 6
TABLES = ANGLE.cos(), ANGLE.sin()


@pytest.mark.parametrize("how", ["dense", "packed", "padded", "transposed"])
@pytest.mark.parametrize("heads", [None, 2])
def test_strides(backend, how, heads):
    """As torch's norm gives them, or as an element-wise norm does."""
    x = laid(torch.randn(B, S, N, D), how)
    width = D if heads is None else N * D
    norm = norm_of(width, "typed", torch.float32)
    rotated = ext.rotary_position_embedding(normal(norm, x, heads), *TABLES)
    found = ext.norm_rotary(norm, x, *TABLES, heads=heads, strides="x")
    if heads is None or how != "transposed":  # heads that lie apart are joined by a copy
        assert found.stride() == rotated.stride()
    torch.testing.assert_close(found, rotated)
    root = norm_of(width, torch.nn.RMSNorm, torch.float32)
    rotated = ext.rotary_position_embedding(normal(root, x, heads), *TABLES)
    found = ext.norm_rotary(root, x, *TABLES, heads=heads)
    assert found.stride() == rotated.stride()
    torch.testing.assert_close(found, rotated)


@pytest.mark.parametrize("form", ["complex", "matrix"])
def test_other_tables(backend, form):
    x, norm = torch.randn(B, S, N, D), norm_of(D, torch.nn.RMSNorm, torch.float32)
    cos, sin = TABLES
    if form == "complex":
        table = torch.complex(cos, sin)
    else:
        table = torch.stack((cos, -sin, sin, cos), -1).unflatten(-1, (2, 2))
    found, seen = ran(lambda: ext.norm_rotary(norm, x, table))
    assert seen == ["mindiesd::norm_rotary"]
    torch.testing.assert_close(found, rotary(norm(x), cos, sin, True))


def test_types_of_results():
    x, norm = torch.randn(B, S, N, D).bfloat16(), norm_of(D, torch.nn.RMSNorm, torch.bfloat16)
    assert ext.norm_rotary(norm, x, *TABLES).dtype == torch.bfloat16
    assert ext.norm_rotary(norm, x, *TABLES, result_type="promoted").dtype == torch.float32
    # The norm's own type counts: diffusers' RMSNorm gives its weight's.
    typed = norm_of(D, "typed", torch.bfloat16)
    assert ext.norm_rotary(typed, x.float(), *TABLES).dtype == typed(x.float()).dtype
    wide = ext.norm_rotary(norm_of(D, torch.nn.RMSNorm, torch.float64), x.double(), *TABLES)
    assert wide.dtype == torch.float64
    with torch.autocast("cpu", torch.bfloat16):
        assert ext.norm_rotary(norm, x, *TABLES).dtype == norm(x).dtype


def test_derivatives_are_torchs():
    x = torch.randn(B, S, N, D, dtype=torch.float64, requires_grad=True)
    norm = norm_of(N * D, torch.nn.RMSNorm, torch.float64).requires_grad_(requires_grad=True)
    tables = [t.double() for t in TABLES]
    with torch.enable_grad():
        call = lambda: ext.norm_rotary(norm, x, *tables, heads=2)  # noqa: E731
        ours = torch.autograd.grad(call().square().sum(), (x, norm.weight))
        theirs = rotary(normal(norm, x, 2), *tables, False)
        theirs = torch.autograd.grad(theirs.square().sum(), (x, norm.weight))
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("heads", [None, 2, -2])
def test_is_traced(heads):
    class Attention(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = ext.RMSNorm(D if heads is None else N * D)

        def forward(self, x, cos, sin):
            return ext.norm_rotary(self.norm, x, cos, sin, heads=heads)

    model, x = Attention(), torch.randn(B, S, N, D)
    traced = torch.fx.symbolic_trace(model)
    torch.testing.assert_close(traced(x, *TABLES), model(x, *TABLES))


class Shifted(torch.nn.Module):
    def forward(self, x):
        return x + 1


def norms_that_are_called():
    hooked = torch.nn.RMSNorm(N * D)
    hooked.register_forward_hook(lambda module, args, result: result * 2)
    replaced = torch.nn.RMSNorm(N * D)
    replaced.forward = lambda x: x * 3
    return {
        "another module": Shifted(),
        "another norm": torch.nn.LayerNorm(N * D),
        "a norm of groups": torch.nn.GroupNorm(1, S),
        "hooked": hooked,
        "replaced": replaced,
    }


@pytest.mark.parametrize("name", norms_that_are_called())
@pytest.mark.parametrize("heads", [2, -2])
def test_norms_that_are_called(name, heads):
    x, norm = torch.randn(B, S, N, D), norms_that_are_called()[name]
    found, seen = ran(lambda: ext.norm_rotary(norm, x, *TABLES, heads=heads, rms_type="weight"))
    assert "mindiesd::norm_rotary" not in seen
    torch.testing.assert_close(found, rotary(normal(norm, x, heads), *TABLES, False))


def test_heads_that_are_not_the_last_dimensions():
    """``norm(x).unflatten(2, …)`` of a tensor with a dimension behind: the norm sees that one alone."""
    x, norm = torch.randn(B, S, 2, 3, D), norm_of(D, torch.nn.RMSNorm, torch.float32)
    tables = [t.unsqueeze(1) for t in TABLES]
    found = ext.norm_rotary(norm, x, *tables, heads=2)
    torch.testing.assert_close(found, rotary(norm(x), *tables, False))


def test_tables_that_enlarge_the_result():
    x, norm = torch.randn(1, S, N, D), norm_of(N * D, torch.nn.RMSNorm, torch.float32)
    tables = [torch.randn(3, S, 1, D) for _ in range(2)]
    found = ext.norm_rotary(norm, x, *tables, heads=2)
    torch.testing.assert_close(found, rotary(normal(norm, x, 2), *tables, False))


def test_empty_operands():
    for shape in ((B, 0, N, D), (0, S, N, D)):
        norm = norm_of(N * D, torch.nn.RMSNorm, torch.float32)
        tables = [t[: shape[1]] for t in TABLES]
        assert ext.norm_rotary(norm, torch.randn(shape), *tables, heads=2).shape == shape


X, ROOT = torch.randn(B, S, N, D), torch.nn.RMSNorm(D)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: ext.norm_rotary(ROOT, None, *TABLES), "x must be a torch.Tensor"),
        (lambda: ext.norm_rotary(3, X, *TABLES), "norm must be a module"),
        (lambda: ext.norm_rotary(ROOT, X, 1.0), "cos must be a torch.Tensor"),
        (lambda: ext.norm_rotary(ROOT, X, *TABLES, "half"), "rotated_mode must be one of"),
        (lambda: ext.norm_rotary(ROOT, X, *TABLES, heads=3), "heads must be None or the number"),
        (lambda: ext.norm_rotary(ROOT, X, *TABLES, heads=-5), "heads must be None or the number"),
        (lambda: ext.norm_rotary(ROOT, X, *TABLES, heads=True), "heads must be None or the number"),
        (lambda: ext.norm_rotary(ROOT, X, *TABLES, rms_type="wide"), "rms_type must be one of"),
        (lambda: ext.norm_rotary(ROOT, X, *TABLES, result_type="x"), "result_type must be one of"),
        (lambda: ext.norm_rotary(ROOT, X, *TABLES, strides="cos"), "strides must be one of"),
        (lambda: ext.norm_rotary(ROOT, X, TABLES[0][..., :3], TABLES[1]), "both have 16 or both 8"),
        (lambda: ext.norm_rotary(ROOT, X, TABLES[0][:3], TABLES[1][:3]), "broadcast against x"),
    ],
)
def test_errors(call, text):
    with pytest.raises(ParametersInvalid, match=text):
        call()
